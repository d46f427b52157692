//! The Content-Security-Policy of the pages, which allows only the page's own script and style.
//!
//! Even if a name from a trace became a script element, the script would not run, because its hash is not listed.

/// The SHA-256 hashes of the style sheet and of the script of a page, in Base64.
pub(super) struct Allowed {
    style: &'static str,
    script: &'static str,
}

/// What the page of a comparison contains.
pub(super) const COMPARISON: Allowed = Allowed {
    style: "K+7n4ATPylkVvMhIp30amD7/RUK+OxPmYC107sUb+Y0=",
    script: "AAJZ+pn+ak4gPt5oYjxTei5WZvjDxjBV8Zr1tyXxI4U=",
};

/// What the page of a fleet contains.
pub(super) const FLEET: Allowed = Allowed {
    style: "8gcXBOXV942ObxMD08QP8dfSaVu/NtjLmmQGQPvczvQ=",
    script: "mvy6eKDx2wOdg1U1bJ7It/FTvWEwQUZFrAcA6Fw99PI=",
};

impl Allowed {
    /// The policy of the page.
    pub(super) fn policy(&self) -> String {
        let Allowed { style, script } = self;
        format!(
            "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:; \
             base-uri 'none'; form-action 'none'"
        )
    }
}

/// The text of bytes in Base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for at in 0..4 {
            if at <= chunk.len() {
                text.push(char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]))
            } else {
                text.push('=')
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    /// Browsers do not run a script with another hash. After a change to a style sheet or a script, copy the hash that
    /// this test prints.
    #[test]
    fn the_policy_allows_what_the_pages_contain() {
        let (script, [fleet_style, fleet_script]) =
            (super::super::script(), super::super::fleet::parts());
        for (name, text, hash) in [
            ("COMPARISON.style", super::super::STYLE, COMPARISON.style),
            ("COMPARISON.script", &script, COMPARISON.script),
            ("FLEET.style", &fleet_style, FLEET.style),
            ("FLEET.script", &fleet_script, FLEET.script),
        ] {
            assert_eq!(base64(&Sha256::digest(text)), hash, "{name}");
        }
    }
}
