//! Repeats failing requests until a deadline, with random pauses.
//!
//! A server that throttles requests or restarts recovers within minutes, so failing requests are repeated for the
//! duration [`DEADLINE`]. If a server has never responded, its address is probably wrong, so requests to that server
//! are abandoned after 1/[`UNANSWERED`] of the deadline.

use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

/// How long a failing request is repeated, unless `TRACETREE_RETRY_SECONDS` is set.
const DEADLINE: Duration = Duration::from_secs(120);

/// The environment variable that overrides the deadline, in seconds.
const VARIABLE: &str = "TRACETREE_RETRY_SECONDS";

/// A server that has never responded counts as unreachable after 1/`UNANSWERED` of the deadline.
const UNANSWERED: u32 = 4;

/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long a failing request is repeated.
pub(super) fn deadline() -> Duration {
    static CHOSEN: LazyLock<Duration> = LazyLock::new(|| {
        let text = std::env::var(VARIABLE).ok();
        let seconds = text.and_then(|text| text.trim().parse().ok());
        seconds.map_or(DEADLINE, Duration::from_secs)
    });
    *CHOSEN
}

/// Repeats requests until the deadline, without a limit on the number of attempts. The length of
/// each pause is random: between a fixed minimum and three times the previous pause. Random pauses
/// keep many workers from repeating their requests at the same moment.
pub(super) fn patient() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: LONGEST_PAUSE,
        base: 3.0,
    };
    RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: deadline() }
}

/// Retry settings for looking up credentials. A failed lookup is repeated only once, because a lookup outside of a
/// cloud asks for a metadata server that does not exist.
pub(super) fn hasty() -> RetryConfig {
    let backoff =
        BackoffConfig { max_backoff: Duration::from_millis(500), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 1, retry_timeout: Duration::from_secs(10) }
}

/// Creates HTTP clients that decide which failed requests are repeated.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Client {
            inner,
            has_answered: AtomicBool::new(false),
            failing: OnceLock::new(),
        }))
    }
}

#[derive(Debug)]
struct Client {
    inner: HttpClient,
    has_answered: AtomicBool,
    /// The time at which a connection first failed before the server had ever responded.
    failing: OnceLock<Instant>,
}

/// The future type that the HTTP client trait requires.
type Answering<'f> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>;

impl HttpService for Client {
    fn call<'s, 'f>(&'s self, request: HttpRequest) -> Answering<'f>
    where
        's: 'f,
        Self: 'f,
    {
        // A conditional write succeeds only if the object does not exist, so repeating the write
        // does no harm.
        let is_repeatable = request.headers().contains_key("if-none-match");
        let query = request.uri().query().unwrap_or_default();
        let is_listing = LISTINGS.iter().any(|part| query.contains(part));
        Box::pin(async move {
            match self.inner.execute(request).await {
                Ok(answer) => {
                    self.has_answered.store(true, Ordering::Relaxed);
                    // object_store does not repeat a request if the error response (for example, "the object does not
                    // exist") is truncated. This function therefore reads error responses and listings completely, so
                    // that truncation counts as a failure.
                    let is_whole = is_listing || !answer.status().is_success();
                    if is_whole { whole(answer).await } else { Ok(answer) }
                }
                Err(error) => Err(error),
            }
            .map_err(|error| HttpError::new(self.kind(error.kind(), is_repeatable), error))
        })
    }
}

/// Strings that occur only in the addresses of listing requests: the first for S3 and Google, the second for Azure.
const LISTINGS: [&str; 2] = ["list-type=", "comp=list"];

/// Waits for a complete response. A truncated response fails, so the request is repeated.
async fn whole(answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (parts, body) = answer.into_parts();
    let cut = |error| HttpError::new(HttpErrorKind::Interrupted, error);
    let bytes = body.bytes().await.map_err(cut)?;
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}

impl Client {
    /// The error kind that is reported to object_store for a failure. The kind determines whether the request is
    /// repeated.
    fn kind(&self, kind: HttpErrorKind, is_repeatable: bool) -> HttpErrorKind {
        if matches!(kind, HttpErrorKind::Connect | HttpErrorKind::Timeout)
            && !self.has_answered.load(Ordering::Relaxed)
        {
            let since = self.failing.get_or_init(Instant::now);
            if since.elapsed() > deadline() / UNANSWERED {
                return HttpErrorKind::Unknown;
            }
        }
        let was_sent = matches!(kind, HttpErrorKind::Timeout | HttpErrorKind::Interrupted);
        if was_sent && is_repeatable { HttpErrorKind::Request } else { kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Refusing;

    impl HttpService for Refusing {
        fn call<'s, 'f>(&'s self, _: HttpRequest) -> Answering<'f>
        where
            's: 'f,
            Self: 'f,
        {
            unreachable!("only kinds are tested")
        }
    }

    fn client(has_answered: bool, failing: Option<Instant>) -> Client {
        let client = Client {
            inner: HttpClient::new(Refusing),
            has_answered: AtomicBool::new(has_answered),
            failing: OnceLock::new(),
        };
        if let Some(since) = failing {
            client.failing.set(since).expect("not set yet");
        }
        client
    }

    #[test]
    fn a_server_that_never_answered_is_given_up_before_the_deadline() {
        let long_ago = Instant::now().checked_sub(DEADLINE / UNANSWERED + Duration::from_secs(1));
        let kind = |has_answered, failing| {
            client(has_answered, failing).kind(HttpErrorKind::Connect, false)
        };
        assert_eq!(kind(false, None), HttpErrorKind::Connect);
        assert_eq!(kind(false, long_ago), HttpErrorKind::Unknown);
        assert_eq!(kind(true, long_ago), HttpErrorKind::Connect);
    }

    #[test]
    fn a_write_that_cannot_overwrite_is_repeated_after_a_cut() {
        let kind =
            |is_repeatable| client(true, None).kind(HttpErrorKind::Interrupted, is_repeatable);
        assert_eq!((kind(true), kind(false)), (HttpErrorKind::Request, HttpErrorKind::Interrupted));
    }
}
