//! Pools of one gateway, one for each language.

use std::sync::{Arc, OnceLock};

use limbeck_domain::Language;

use crate::{Launcher, Pool, PoolSize, Worker, WorkerError};

/// A pool of ready workers for each language. Clones share them.
///
/// TypeScript workers are ready from the start. Those of other languages are made when the first program in that
/// language arrives, so that an unused engine costs no memory.
#[derive(Clone, Debug)]
pub struct Pools {
    launcher: Launcher,
    size: PoolSize,
    pools: Arc<[OnceLock<Pool>; Language::ALL.len()]>,
}

impl Pools {
    /// Starts filling the pool of TypeScript. Must be called inside a Tokio runtime.
    pub fn start(launcher: Launcher, size: PoolSize) -> Self {
        let pools = Self {
            launcher,
            size,
            pools: Arc::default(),
        };
        pools.warm(Language::Typescript);
        pools
    }

    /// Starts filling the pool of a language, if that has not begun.
    pub fn warm(&self, language: Language) {
        self.pool(language);
    }

    /// A worker that is ready for a program in `language`.
    ///
    /// # Errors
    ///
    /// When a worker cannot be started in time, or lacks a layer that the minimum tier needs.
    pub async fn take(&self, language: Language) -> Result<Worker, WorkerError> {
        self.pool(language).take().await
    }

    /// Ends refilling, and kills the ready workers and their zygotes.
    pub async fn shutdown(&self) {
        for pool in self.pools.iter().filter_map(OnceLock::get) {
            pool.shutdown().await;
        }
        self.launcher.shutdown().await;
    }

    fn pool(&self, language: Language) -> &Pool {
        self.pools[language as usize]
            .get_or_init(|| Pool::start(&self.launcher, language, self.size))
    }
}
