//! Addresses of the requests of a provider, below the address in the configuration.

use url::Url;

/// `base` with `segments` behind its path.
pub(super) fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// Whether the path of `base` ends with a version of the interface, such as `/v1`.
pub(super) fn names_version(base: &Url, versions: &[&str]) -> bool {
    let segments = base.path_segments();
    let last = segments.and_then(|mut it| it.rfind(|segment| !segment.is_empty()));
    last.is_some_and(|last| versions.contains(&last))
}
