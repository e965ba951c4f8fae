//! Cache of negotiated protocol generations.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::http::dialect::HttpDialect;
use crate::sync::lock;

use super::target::Target;

/// Lifetime of an entry. A wrong "modern" fails loudly, but a wrong "legacy" works and would never be noticed.
const VERDICT_LIFE: Duration = Duration::from_secs(3_600);

/// Protocol last negotiated with each server. A child process is only ever `Modern` or `Legacy`.
#[derive(Default)]
pub(crate) struct NegotiationCache(Mutex<HashMap<CacheKey, (HttpDialect, Instant)>>);

/// Identity of a server in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CacheKey {
    CommandLine(PathBuf, Vec<String>),
    /// Origin and path.
    Address(String),
}

impl Target {
    pub(super) fn key(&self) -> CacheKey {
        match self {
            Self::Process(spec) => CacheKey::CommandLine(spec.command.clone(), spec.args.clone()),
            Self::Http(spec) => CacheKey::Address(format!("{}{}", spec.origin(), spec.url.path())),
        }
    }
}

impl NegotiationCache {
    pub(super) fn recall(&self, key: &CacheKey, now: Instant) -> Option<HttpDialect> {
        let (dialect, since) = lock(&self.0).get(key).copied()?;
        (now.saturating_duration_since(since) < VERDICT_LIFE).then_some(dialect)
    }

    /// Stores a result. Storing the cached value again does not extend its lifetime.
    pub(super) fn remember(&self, key: CacheKey, dialect: HttpDialect, now: Instant) {
        if self.recall(&key, now) != Some(dialect) {
            lock(&self.0).insert(key, (dialect, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::http::HttpSpec;

    use super::*;

    #[test]
    fn an_entry_lives_an_hour_from_its_first_insertion_and_is_replaced_by_another() {
        let cache = NegotiationCache::default();
        let target = |url: &str| Target::Http(Box::new(HttpSpec::new(url).unwrap())).key();
        let key = target("https://example.com/mcp?token=a");
        let found = Instant::now();
        cache.remember(key.clone(), HttpDialect::Legacy, found);
        let later = found + VERDICT_LIFE - Duration::from_secs(1);
        assert_eq!(cache.recall(&key, later), Some(HttpDialect::Legacy));
        // Origin and path identify the server; the query does not count.
        let other_query = target("https://example.com/mcp?token=b");
        assert_eq!(cache.recall(&other_query, later), Some(HttpDialect::Legacy));
        assert_eq!(cache.recall(&target("https://example.com/"), later), None);

        // Confirming a cached value does not make it younger.
        cache.remember(key.clone(), HttpDialect::Legacy, later);
        assert_eq!(cache.recall(&key, found + VERDICT_LIFE), None);
        cache.remember(key.clone(), HttpDialect::Modern, later);
        assert_eq!(
            cache.recall(&key, found + VERDICT_LIFE),
            Some(HttpDialect::Modern)
        );
    }
}
