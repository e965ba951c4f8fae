//! Access to the system's keychain: Keychain on macOS, Credential Manager on Windows, the kernel's keyring on
//! Linux.
//!
//! On Linux that is the user's persistent keyring (`keyctl(1)`), which needs no service and no bus, and is lost
//! at a reboot; the desktop's secret service is reached through its own command with `exec:`.

/// Reads the secret of `account` at `service`. Blocks, because a keychain may ask the user.
///
/// # Errors
///
/// Reason why there is no secret, without any part of it.
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
pub(super) fn read(service: &str, account: &str) -> Result<String, String> {
    use keyring_core::Error;
    use keyring_core::api::CredentialStoreApi as _;

    let entry = Store::new().and_then(|store| store.build(service, account, None));
    entry
        .and_then(|entry| entry.get_password())
        .map_err(|error| match error {
            Error::NoEntry => format!("the keychain has nothing for `{account}` at `{service}`"),
            Error::PlatformFailure(error) | Error::NoStorageAccess(error) => {
                format!("the keychain cannot be read: {error}")
            }
            _ => format!("the keychain entry of `{account}` at `{service}` is not text"),
        })
}

#[cfg(target_os = "linux")]
type Store = linux_keyutils_keyring_store::Store;
#[cfg(target_os = "macos")]
type Store = apple_native_keyring_store::keychain::Store;
#[cfg(windows)]
type Store = windows_native_keyring_store::Store;

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(super) fn read(_service: &str, _account: &str) -> Result<String, String> {
    Err("this system has no supported keychain; use `exec:` with a command".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use keyring_core::api::CredentialStoreApi as _;

    use super::*;

    /// A kernel may refuse keyrings, as in a container; then reading has to return an error.
    #[test]
    fn an_entry_of_the_kernels_keyring_is_read_and_a_missing_one_is_reported() {
        let service = format!("limbeck-test-{}", std::process::id());
        let store = Store::new().unwrap();
        let entry = store.build(&service, "me", None).unwrap();
        if entry.set_password("s3cret").is_err() {
            let problem = read(&service, "me").unwrap_err();
            assert!(problem.contains("keychain"), "{problem}");
            return;
        }
        assert_eq!(read(&service, "me").unwrap(), "s3cret");
        let problem = read(&service, "other").unwrap_err();
        assert!(problem.contains("has nothing for `other`"), "{problem}");
        entry.delete_credential().unwrap();
        assert!(read(&service, "me").is_err());
    }
}
