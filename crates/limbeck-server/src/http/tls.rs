//! TLS by rustls: versions 1.2 and 1.3 with its default cipher suites.
//!
//! The files are checked every few seconds and read again after a change, so a renewed certificate is used
//! without a restart. When the changed files are not usable the error is logged and the last good
//! certificate stays in use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::secret_files::{FileExposure, exposure};
use crate::followed_files::{self, FileStamp, stamp};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// ALPN protocols, preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Files of certificate and key, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Certificate chain.
    pub certificate: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
}

/// Failure to use certificate or key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not readable, or not PEM.
    #[error("{what} {} cannot be read", .path.display())]
    File {
        /// `certificate` or `key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: pem::Error,
    },
    /// Every user of the machine can change the key.
    #[error("key {} has mode {mode:03o}, so every user of this machine can change it", .path.display())]
    OpenKey {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file holds no certificate.
    #[error("{} holds no certificate in PEM", .0.display())]
    NoCertificate(PathBuf),
    /// Certificate or key is not usable, or they do not belong together.
    #[error("certificate and key cannot be used")]
    Unusable(#[source] rustls::Error),
}

/// Accepts TLS connections with the newest usable certificate.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn read(files: TlsFiles) -> Result<Self, TlsError> {
        let config = RwLock::new(config(&files)?);
        Ok(Self { files, config })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }

    /// Reads the files again whenever they change; never returns.
    pub(crate) async fn follow(&self) {
        followed_files::follow(
            self.files.stamps(),
            || self.files.stamps(),
            || self.reload(),
        )
        .await;
    }

    fn reload(&self) {
        match config(&self.files) {
            Ok(config) => {
                let mut current = self.config.write().unwrap_or_else(PoisonError::into_inner);
                *current = config;
                tracing::info!("certificate was read again");
            }
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "changed certificate cannot be used; the last one stays"
            ),
        }
    }
}

impl TlsFiles {
    fn stamps(&self) -> [Option<FileStamp>; 2] {
        [stamp(&self.certificate), stamp(&self.key)]
    }
}

fn config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |what: &'static str, path: &Path| {
        let path = path.to_owned();
        move |error| TlsError::File { what, path, error }
    };
    let path = &files.certificate;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(failed("certificate", path))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(path.clone()));
    }
    let unreadable = |error| failed("key", &files.key)(pem::Error::Io(error));
    let key = std::fs::File::open(&files.key).map_err(unreadable)?;
    match exposure(&key).map_err(unreadable)? {
        FileExposure::Private => {}
        FileExposure::Readable { mode } => tracing::warn!(
            file = %files.key.display(),
            mode = format_args!("{mode:03o}"),
            "other users of this machine can read the key; run `chmod 600` on it"
        ),
        FileExposure::Writable { mode } => {
            let path = files.key.clone();
            return Err(TlsError::OpenKey { path, mode });
        }
    }
    let key = PrivateKeyDer::from_pem_reader(key).map_err(failed("key", &files.key))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(TlsError::Unusable)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
    Ok(Arc::new(config))
}
