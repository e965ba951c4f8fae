//! Cursors that continue a search after an earlier answer.

use std::fmt::Write as _;

use limbeck_catalog::Catalog;
use limbeck_domain::{CallCode, CallError};
use sha2::{Digest as _, Sha256};

use super::{QUERIES_MAX, SearchRequest};

/// Longest cursor that is read: a fingerprint, and a number for each query.
const CURSOR_BYTES_MAX: usize = 17 + 8 * QUERIES_MAX;

/// Identity of catalog and request that a cursor belongs to, as eight hexadecimal digits each.
#[derive(Clone, Debug, Default)]
pub(super) struct Fingerprint(String);

impl Fingerprint {
    /// Limit, detail and language may change from page to page. Queries and server may not, and neither may
    /// `ranking`, the fingerprint of the vectors that ranked the tools; absent when the table in the binary did.
    pub(super) fn of(catalog: &Catalog, request: &SearchRequest, ranking: Option<[u8; 4]>) -> Self {
        let mut hasher = Sha256::new();
        let server = request.server.as_deref().unwrap_or_default();
        for text in request.queries.iter().map(String::as_str).chain([server]) {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        let ranking = ranking.map_or(0, u32::from_le_bytes);
        let mut hex = format!("{:08x}", catalog.fingerprint() ^ ranking);
        for byte in hasher.finalize().iter().take(4) {
            // Writing into a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }

    /// Cursor after the first `shown` hits of each query.
    pub(super) fn cursor(&self, shown: impl Iterator<Item = usize>) -> String {
        let mut cursor = self.0.clone();
        for shown in shown {
            let _ = write!(cursor, "-{shown}");
        }
        cursor
    }

    /// Reads the number of hits in earlier answers for each of `queries` queries.
    ///
    /// # Errors
    ///
    /// [`CallError`] when `cursor` is malformed, or belongs to another request or to other tools.
    pub(super) fn read(&self, cursor: &str, queries: usize) -> Result<Vec<usize>, CallError> {
        let refused = |why: &str| {
            Err(CallError::new(CallCode::InvalidArguments, why)
                .with_hint("search again without `cursor`"))
        };
        if cursor.len() > CURSOR_BYTES_MAX {
            return refused("unknown `cursor`: pass the `cursor` of an earlier answer, unchanged");
        }
        let mut parts = cursor.split('-');
        let fingerprint = parts.next().unwrap_or_default();
        let is_hex = fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
        let shown: Option<Vec<usize>> = parts.map(|part| part.parse().ok()).collect();
        let (true, 16, Some(shown)) = (is_hex, fingerprint.len(), shown) else {
            return refused("unknown `cursor`: pass the `cursor` of an earlier answer, unchanged");
        };
        if fingerprint[8..] != self.0[8..] || shown.len() != queries {
            return refused(
                "`cursor` belongs to another search: its queries and server have to be the same",
            );
        }
        if fingerprint != self.0 {
            return refused("the tools or their ranking changed since `cursor` was returned");
        }
        Ok(shown)
    }
}
