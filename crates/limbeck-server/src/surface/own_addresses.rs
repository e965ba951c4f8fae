//! The gateway's own address space, `limbeck:`, which no server may list resources in or be asked about.
//!
//! A client that sees `limbeck://…` takes it for an artifact of the gateway, so a server that listed such an address
//! would speak in the gateway's name.

const SCHEME: &str = "limbeck:";

/// Whether `uri` is an address of the gateway: in any case of letters, and with the white space and control
/// characters that parsers of URLs skip.
pub(super) fn is_own_address(uri: &str) -> bool {
    leading(uri) == SCHEME
}

/// Whether expansions of the URI template (RFC 6570) may be addresses of the gateway. One that begins with a
/// variable may be: what the variable expands to is not known.
pub(super) fn may_be_own_address(template: &str) -> bool {
    match template.split_once('{') {
        Some((literal, _)) => SCHEME.starts_with(&leading(literal)),
        None => is_own_address(template),
    }
}

/// The first characters of an address, as many as [`SCHEME`] has, as a parser of URLs reads them.
fn leading(uri: &str) -> String {
    let read = uri
        .chars()
        .filter(|c| !c.is_whitespace() && !c.is_control());
    let read = read.take(SCHEME.len());
    read.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_gateway_are_recognised_in_any_case_of_letters() {
        for own in [
            "limbeck://artifacts/art_1",
            "LIMBECK://artifacts/art_1",
            "Limbeck:artifacts",
            " limbeck://x",
            "lim\tbeck://x",
        ] {
            assert!(is_own_address(own), "{own}");
        }
        for foreign in [
            "x:1",
            "limbeck",
            "limbecks://x",
            "https://limbeck/x",
            "",
            "file:///limbeck:",
        ] {
            assert!(!is_own_address(foreign), "{foreign}");
        }
    }

    #[test]
    fn templates_that_may_make_such_an_address_are_recognised() {
        for own in [
            "limbeck://artifacts/{id}",
            "LimBeck:{x}",
            "limbeck{+rest}",
            "l{x}",
            "{+uri}",
            "{scheme}://artifacts/1",
            "LIMBECK://artifacts/1",
        ] {
            assert!(may_be_own_address(own), "{own}");
        }
        for foreign in [
            "x:{id}",
            "file:///{+path}",
            "lim://{x}",
            "limbecks:{x}",
            "note:1",
        ] {
            assert!(!may_be_own_address(foreign), "{foreign}");
        }
    }
}
