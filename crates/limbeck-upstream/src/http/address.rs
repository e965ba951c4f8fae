//! Policy for the network addresses that a server's connection may use.
//!
//! The user's configuration is a decision; what a server sends is not. The host in the configuration may be on
//! this machine or in a private network. Every other host, which a server or its metadata names, has to be
//! public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

/// Class of an address (IANA special-purpose registries, RFC 6890).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// Routed on the internet.
    Public,
    /// RFC 1918, unique local (RFC 4193), or shared by a carrier (RFC 6598).
    Private,
    /// This machine.
    Loopback,
    /// Link-local, where clouds keep their metadata services, and their other known addresses.
    LinkLocal,
    /// Unspecified, multicast, broadcast, documentation, reserved, or a tunnel.
    Special,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Special => "special-purpose",
        })
    }
}

impl AddressClass {
    /// Returns the class of `address`; an IPv4 address inside an IPv6 one has its own class.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => v4(address),
            IpAddr::V6(address) => v6(address),
        }
    }
}

fn v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            AddressClass::Private
        }
        [169, 254, ..] => AddressClass::LinkLocal,
        [0, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => AddressClass::Special,
        _ => AddressClass::Public,
    }
}

fn v6(address: Ipv6Addr) -> AddressClass {
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // Mapped, and translated by NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            v4(embedded(high, low))
        }
        // Metadata of EC2 over IPv6.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        // 6to4 leads to the embedded address, through a relay that the sender chooses.
        [0x2002, high, low, ..] => match v4(embedded(high, low)) {
            AddressClass::Public => AddressClass::Special,
            inner => inner,
        },
        // IETF protocol assignments with Teredo, documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            AddressClass::Special
        }
        // Global unicast; everything else is unassigned, multicast, or deprecated.
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Special,
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// Addresses an entry allows beside the host of its url.
#[derive(Clone, Debug, Default)]
pub struct NetworkRules {
    /// Networks treated like public ones for this server.
    pub allow: Vec<IpNet>,
    /// Whether the url may be `http` although its host is not this machine.
    pub clear: bool,
}

/// Address policy of one entry: the host in its url and its rules.
#[derive(Clone, Debug)]
pub(crate) struct AddressPolicy {
    home: Host<String>,
    rules: NetworkRules,
}

impl AddressPolicy {
    /// `None` when `url` has no host.
    pub(crate) fn new(url: &Url, rules: NetworkRules) -> Option<Self> {
        let home = url.host()?.to_owned();
        Some(Self { home, rules })
    }

    pub(crate) fn allows_clear(&self, host: &Host<&str>) -> bool {
        self.is_home(host) && self.rules.clear || is_this_machine(host)
    }

    pub(crate) fn is_home(&self, host: &Host<&str>) -> bool {
        self.home == host.to_owned()
    }

    /// Whether a connection to `address`, to which `host` resolved, is allowed.
    pub(crate) fn admits(&self, host: &Host<&str>, address: IpAddr) -> bool {
        if self.lists(address) {
            return true;
        }
        match AddressClass::of(address) {
            AddressClass::Public => true,
            // A name other than `localhost` that resolves to loopback is the sign of DNS rebinding.
            AddressClass::Loopback => self.home_is_here() && is_this_machine(host),
            AddressClass::Private => self.is_home(host),
            AddressClass::LinkLocal | AddressClass::Special => false,
        }
    }

    /// Whether the entry's rules list `address`.
    pub(crate) fn lists(&self, address: IpAddr) -> bool {
        let plain = address.to_canonical();
        self.rules.allow.iter().any(|net| net.contains(&plain))
    }

    /// A server on this machine may have its authorization server on another port of this machine.
    fn home_is_here(&self) -> bool {
        is_this_machine(&borrowed(&self.home))
    }
}

fn borrowed(host: &Host<String>) -> Host<&str> {
    match host {
        Host::Domain(name) => Host::Domain(name.as_str()),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => Host::Ipv6(*address),
    }
}

/// `localhost` (RFC 6761), or a loopback address.
pub(crate) fn is_this_machine(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => v4(*address) == AddressClass::Loopback,
        Host::Ipv6(address) => v6(*address) == AddressClass::Loopback,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class of the host of a url, read by the parser that the connection uses.
    fn class(host: &str) -> AddressClass {
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        match url.host().unwrap() {
            Host::Ipv4(address) => AddressClass::of(address.into()),
            Host::Ipv6(address) => AddressClass::of(address.into()),
            Host::Domain(name) => panic!("{host} is the name {name}"),
        }
    }

    #[test]
    fn every_spelling_of_an_address_has_the_class_of_the_address() {
        use AddressClass::*;
        for (host, expected) in [
            ("127.0.0.1", Loopback),
            ("2130706433", Loopback),
            ("0x7f000001", Loopback),
            ("0177.0.0.1", Loopback),
            ("127.1", Loopback),
            ("127.0.0.1.", Loopback),
            ("①②⑦.0.0.1", Loopback),
            ("[::1]", Loopback),
            ("[::ffff:127.0.0.1]", Loopback),
            ("[::ffff:7f00:1]", Loopback),
            ("[64:ff9b::7f00:1]", Loopback),
            ("[2002:7f00:1::]", Loopback),
            ("[::127.0.0.1]", Special),
            ("[::]", Special),
            ("0.0.0.0", Special),
            ("0", Special),
            ("10.0.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("[fd12::1]", Private),
            ("[64:ff9b::a00:1]", Private),
            ("169.254.169.254", LinkLocal),
            ("0xa9fea9fe", LinkLocal),
            ("[fe80::1]", LinkLocal),
            ("[fd00:ec2::254]", LinkLocal),
            ("[::ffff:a9fe:a9fe]", LinkLocal),
            ("224.0.0.1", Special),
            ("255.255.255.255", Special),
            ("192.0.2.1", Special),
            ("198.18.0.1", Special),
            ("[2001:db8::1]", Special),
            ("[2001::1]", Special),
            ("[ff02::1]", Special),
            ("[fec0::1]", Special),
            ("[64:ff9b:1::1]", Special),
            ("[2002:808:808::]", Special),
            ("8.8.8.8", Public),
            ("172.32.0.1", Public),
            ("100.128.0.1", Public),
            ("[2606:4700::1111]", Public),
            ("[64:ff9b::808:808]", Public),
        ] {
            assert_eq!(class(host), expected, "{host}");
        }
        assert!(Url::parse("http://[fe80::1%25eth0]/").is_err());
    }

    fn admits(home: &str, rules: NetworkRules, host: &str, address: &str) -> bool {
        let policy = AddressPolicy::new(&Url::parse(home).unwrap(), rules).unwrap();
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        policy.admits(&url.host().unwrap(), address.parse().unwrap())
    }

    #[test]
    fn a_configured_host_may_be_private_and_other_hosts_may_not() {
        let plain = NetworkRules::default;
        assert!(admits(
            "http://intranet:8080/",
            plain(),
            "intranet",
            "10.0.0.1"
        ));
        assert!(!admits(
            "http://intranet:8080/",
            plain(),
            "other",
            "10.0.0.1"
        ));
        assert!(admits(
            "http://127.0.0.1:3/",
            plain(),
            "127.0.0.1",
            "127.0.0.1"
        ));
        assert!(admits("http://localhost:3/", plain(), "localhost", "::1"));
        assert!(!admits(
            "https://example.com/",
            plain(),
            "example.com",
            "127.0.0.1"
        ));
        assert!(!admits(
            "https://example.com/",
            plain(),
            "127.0.0.1",
            "127.0.0.1"
        ));
        assert!(admits(
            "https://example.com/",
            plain(),
            "other.org",
            "8.8.8.8"
        ));
        // Metadata services are not even for those who write them down.
        assert!(!admits(
            "http://169.254.169.254/",
            plain(),
            "169.254.169.254",
            "169.254.169.254"
        ));
        let rules = NetworkRules {
            allow: vec!["10.0.0.0/8".parse().unwrap()],
            clear: false,
        };
        assert!(admits(
            "https://example.com/",
            rules.clone(),
            "auth.corp",
            "10.1.2.3"
        ));
        assert!(admits(
            "https://example.com/",
            rules.clone(),
            "auth.corp",
            "::ffff:10.1.2.3"
        ));
        assert!(!admits(
            "https://example.com/",
            rules,
            "auth.corp",
            "192.168.0.1"
        ));
    }
}
