//! The services that host objects, with hints for the user if a request fails.

/// The service that hosts an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Google,
    Azure,
    /// A plain web server, which is read-only.
    Web,
}

impl Service {
    /// A hint that explains how to provide credentials.
    pub(super) fn credentials(self) -> &'static str {
        match self {
            Service::S3 => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"
            }
            Service::Google => {
                "set GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
            }
            Service::Azure => {
                "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for a public container"
            }
            Service::Web => {
                "the server requires authentication, which is not supported: download the file first"
            }
        }
    }

    /// A hint that lists what to check if the address cannot be reached.
    pub(super) fn place(self) -> &'static str {
        match self {
            Service::S3 => {
                "check the address, the network, AWS_REGION, and AWS_ENDPOINT_URL if the store is not Amazon S3"
            }
            Service::Google | Service::Web => "check the address and the network",
            Service::Azure => "check the address, the network and AZURE_STORAGE_ACCOUNT_NAME",
        }
    }
}
