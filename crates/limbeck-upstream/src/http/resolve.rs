//! Name resolution that checks every address before a connection is made.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::address::{AddressClass, AddressPolicy, is_this_machine};

/// Addresses used of one DNS answer.
const ADDRESSES_MAX: usize = 16;

/// Function that resolves a name. The product uses the system's; tests have their own.
pub(crate) type LookupFn =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The address is not allowed for this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{host}` is a {class} address, which this server may not send Limbeck to")]
pub struct AddressRefusedError {
    /// Host in the url.
    pub host: String,
    /// Class of its address.
    pub class: AddressClass,
}

/// Resolver of one client. Connections are made only to the addresses it returns.
pub(crate) struct GuardedResolver {
    policy: Arc<AddressPolicy>,
    lookup: LookupFn,
    /// Set once the server's name resolved to a public address; it must stay public.
    home_was_public: Arc<AtomicBool>,
}

impl GuardedResolver {
    pub(crate) fn new(policy: Arc<AddressPolicy>, lookup: LookupFn) -> Self {
        Self {
            policy,
            lookup,
            home_was_public: Arc::default(),
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, lookup) = (self.policy.clone(), self.lookup.clone());
        let home_was_public = self.home_was_public.clone();
        Box::pin(async move {
            let name = name.as_str();
            let host = Host::Domain(name);
            let addresses = if is_this_machine(&host) {
                // RFC 6761: not sent to a DNS resolver, which might return another address.
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            } else {
                lookup(name.to_owned()).await?
            };
            let addresses: Vec<IpAddr> = addresses.into_iter().take(ADDRESSES_MAX).collect();
            judge(&policy, &host, &addresses, &home_was_public)?;
            // The connector fills in the port of the url.
            let sockets = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}

/// Accepts all addresses of an answer or none.
///
/// An answer that mixes public addresses with others, or a server's name that was public and no longer is, is a
/// sign of DNS rebinding; only addresses in the entry's rules are exempt.
fn judge(
    policy: &AddressPolicy,
    host: &Host<&str>,
    addresses: &[IpAddr],
    home_was_public: &AtomicBool,
) -> Result<(), AddressRefusedError> {
    let refused = |class| AddressRefusedError {
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
    // An address that is allowed by itself may still be the second half of a rebinding.
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

/// The system's resolver, with its hosts file.
pub(crate) fn system() -> LookupFn {
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
        let policy = AddressPolicy::new(&Url::parse(home).unwrap(), rules).unwrap();
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
