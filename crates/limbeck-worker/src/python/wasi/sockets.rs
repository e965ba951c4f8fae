//! Sockets of WASI, which cannot be created.
//!
//! Making a socket and looking a name up fail as on a machine without a network. Everything else
//! needs a socket first, so it cannot be reached.

use wasmtime::StoreContextMut;
use wasmtime::bail;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{
    Component, ComponentType, Lift, Linker, Lower, Resource, ResourceType, WasmStr,
};

use super::io::Pollable;
use super::{interface, interface_name};
use crate::host::HostError;
use crate::python::state::GuestState;

/// Type of the network, socket and stream resources; none is ever created.
type Nothing = Resource<()>;

/// Resources of the interfaces that need a socket first.
const RESOURCES: [(&str, &[&str]); 3] = [
    ("sockets/network", &["network"]),
    ("sockets/tcp", &["tcp-socket"]),
    (
        "sockets/udp",
        &[
            "udp-socket",
            "incoming-datagram-stream",
            "outgoing-datagram-stream",
        ],
    ),
];

#[derive(Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "the guest makes them, and both are refused")]
enum AddressFamily {
    #[component(name = "ipv4")]
    Ipv4,
    #[component(name = "ipv6")]
    Ipv6,
}

#[derive(Clone, Copy, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "the interface has them all")]
enum ErrorCode {
    #[component(name = "unknown")]
    Unknown,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "not-supported")]
    NotSupported,
    #[component(name = "invalid-argument")]
    InvalidArgument,
    #[component(name = "out-of-memory")]
    OutOfMemory,
    #[component(name = "timeout")]
    Timeout,
    #[component(name = "concurrency-conflict")]
    ConcurrencyConflict,
    #[component(name = "not-in-progress")]
    NotInProgress,
    #[component(name = "would-block")]
    WouldBlock,
    #[component(name = "invalid-state")]
    InvalidState,
    #[component(name = "new-socket-limit")]
    NewSocketLimit,
    #[component(name = "address-not-bindable")]
    AddressNotBindable,
    #[component(name = "address-in-use")]
    AddressInUse,
    #[component(name = "remote-unreachable")]
    RemoteUnreachable,
    #[component(name = "connection-refused")]
    ConnectionRefused,
    #[component(name = "connection-reset")]
    ConnectionReset,
    #[component(name = "connection-aborted")]
    ConnectionAborted,
    #[component(name = "datagram-too-large")]
    DatagramTooLarge,
    #[component(name = "name-unresolvable")]
    NameUnresolvable,
    #[component(name = "temporary-resolver-failure")]
    TemporaryResolverFailure,
    #[component(name = "permanent-resolver-failure")]
    PermanentResolverFailure,
}

#[derive(ComponentType, Lower)]
#[component(variant)]
#[allow(
    dead_code,
    reason = "the interface declares them, but no address is ever returned"
)]
enum IpAddress {
    #[component(name = "ipv4")]
    Ipv4((u8, u8, u8, u8)),
    #[component(name = "ipv6")]
    Ipv6((u16, u16, u16, u16, u16, u16, u16, u16)),
}

pub(super) fn add_to_linker(
    linker: &mut Linker<GuestState>,
    component: &Component,
) -> wasmtime::Result<()> {
    for (name, resources) in RESOURCES {
        let mut interface = interface(linker, name)?;
        for resource in resources {
            interface.resource(resource, ResourceType::host::<()>(), |_, _| Ok(()))?;
        }
        for function in functions(component, &interface_name(name)) {
            interface.func_new(&function, |_, _, _, _| {
                bail!(HostError::Misuse("used a socket it cannot have"))
            })?;
        }
    }
    interface(linker, "sockets/instance-network")?
        .func_wrap("instance-network", |_, ()| Ok((Nothing::new_own(0),)))?;
    for kind in ["tcp", "udp"] {
        interface(linker, &format!("sockets/{kind}-create-socket"))?.func_wrap(
            &format!("create-{kind}-socket"),
            |_, (_,): (AddressFamily,)| Ok((Err::<Nothing, _>(ErrorCode::NotSupported),)),
        )?;
    }
    let mut lookup = interface(linker, "sockets/ip-name-lookup")?;
    lookup.resource(
        "resolve-address-stream",
        ResourceType::host::<()>(),
        |_, _| Ok(()),
    )?;
    lookup.func_wrap("resolve-addresses", |_, _: (Nothing, WasmStr)| {
        Ok((Err::<Nothing, _>(ErrorCode::NameUnresolvable),))
    })?;
    lookup.func_wrap(
        "[method]resolve-address-stream.resolve-next-address",
        |_, _: (Nothing,)| Ok((Err::<Option<IpAddress>, _>(ErrorCode::NameUnresolvable),)),
    )?;
    lookup.func_wrap(
        "[method]resolve-address-stream.subscribe",
        |_: StoreContextMut<'_, GuestState>,
         _: (Nothing,)|
         -> wasmtime::Result<(Resource<Pollable>,)> {
            bail!(HostError::Misuse("waited for an address"))
        },
    )
}

/// Functions of an interface that a component imports.
fn functions(component: &Component, interface: &str) -> Vec<String> {
    let engine = component.engine();
    let imports = component.component_type();
    let imports = imports
        .imports(engine)
        .filter(|(name, _)| *name == interface);
    let instances = imports.filter_map(|(_, import)| match import.ty {
        ComponentItem::ComponentInstance(instance) => Some(instance),
        _ => None,
    });
    instances
        .flat_map(|instance| {
            let exports = instance.exports(engine);
            let functions =
                exports.filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)));
            functions
                .map(|(name, _)| name.to_owned())
                .collect::<Vec<_>>()
        })
        .collect()
}
