//! Resolves names and judges every address before anybody connects to it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::address::{AddressClass, Policy, is_this_machine};

/// Addresses used of one answer; more only cost time.
const ADDRESSES_MAX: usize = 16;

/// Turns a name into addresses. The system's in the product; tests have their own.
pub(crate) type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// An address that may not be connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{host}` is a {class} address, which this server may not lead to")]
pub struct AddressRefused {
    /// Host as the url names it.
    pub host: String,
    /// What it turned out to be.
    pub class: AddressClass,
}

/// The resolver of one client. The connection is made to the addresses it returns and to no others.
pub(crate) struct Resolver {
    policy: Arc<Policy>,
    lookup: Lookup,
    /// The server's name was public once, so it stays public.
    home_was_public: Arc<AtomicBool>,
}

impl Resolver {
    pub(crate) fn new(policy: Arc<Policy>, lookup: Lookup) -> Self {
        Self {
            policy,
            lookup,
            home_was_public: Arc::default(),
        }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, lookup) = (self.policy.clone(), self.lookup.clone());
        let home_was_public = self.home_was_public.clone();
        Box::pin(async move {
            let name = name.as_str();
            let host = Host::Domain(name);
            let addresses = if is_this_machine(&host) {
                // RFC 6761: never asked of a resolver, which might answer something else.
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            } else {
                lookup(name.to_owned()).await?
            };
            let addresses: Vec<IpAddr> = addresses.into_iter().take(ADDRESSES_MAX).collect();
            judge(&policy, &host, &addresses, &home_was_public)?;
            // The port is the url's, which the connector fills in.
            let sockets = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}

/// Admits all addresses of an answer or none.
///
/// An answer that mixes public addresses with others, or a server's name that was public and no longer is,
/// is how a name is bound to another machine behind a check; only addresses that the entry's rules list
/// may do that.
fn judge(
    policy: &Policy,
    host: &Host<&str>,
    addresses: &[IpAddr],
    home_was_public: &AtomicBool,
) -> Result<(), AddressRefused> {
    let refused = |class| AddressRefused {
        host: host.to_string(),
        class,
    };
    let class = |address: &IpAddr| AddressClass::of(*address);
    if let Some(address) = addresses
        .iter()
        .find(|address| !policy.admits(host, **address))
    {
        return Err(refused(class(address)));
    }
    let doubtful = addresses
        .iter()
        .find(|address| class(address) != AddressClass::Public && !policy.lists(**address));
    let has_public = addresses
        .iter()
        .any(|address| class(address) == AddressClass::Public);
    let is_home = policy.is_home(host);
    if let Some(address) = doubtful
        && (has_public || (is_home && home_was_public.load(Ordering::Relaxed)))
    {
        return Err(refused(class(address)));
    }
    if is_home && has_public {
        home_was_public.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// What the system knows: its hosts file and its resolvers.
pub(crate) fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|socket| socket.ip()).collect())
        })
    })
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::http::NetworkRules;

    fn verdicts(home: &str, rules: NetworkRules, answers: &[&[&str]]) -> Vec<bool> {
        let policy = Policy::new(&Url::parse(home).unwrap(), rules).unwrap();
        let was_public = AtomicBool::new(false);
        let mut verdicts = Vec::new();
        for answer in answers {
            let addresses: Vec<IpAddr> = answer.iter().map(|text| text.parse().unwrap()).collect();
            let host = Host::Domain("mcp.example");
            verdicts.push(judge(&policy, &host, &addresses, &was_public).is_ok());
        }
        verdicts
    }

    #[test]
    fn a_name_that_was_public_never_becomes_private() {
        let answers: &[&[&str]] = &[&["8.8.8.8"], &["10.0.0.1"], &["1.1.1.1"], &["127.0.0.1"]];
        let home = "https://mcp.example/";
        assert_eq!(
            verdicts(home, NetworkRules::default(), answers),
            [true, false, true, false]
        );
        // The control: the same name in an intranet from the start.
        assert_eq!(
            verdicts(home, NetworkRules::default(), &[&["10.0.0.1"]]),
            [true]
        );
    }

    #[test]
    fn one_bad_address_spoils_an_answer() {
        let home = "https://mcp.example/";
        let mixed: &[&[&str]] = &[
            &["8.8.8.8", "10.0.0.1"],
            &["8.8.8.8", "::1"],
            &["8.8.8.8", "2606:4700::1111"],
        ];
        assert_eq!(
            verdicts(home, NetworkRules::default(), mixed),
            [false, false, true]
        );
        let rules = NetworkRules {
            allow: vec!["10.0.0.0/8".parse().unwrap()],
            clear: false,
        };
        assert_eq!(verdicts(home, rules, mixed), [true, false, true]);
    }
}
