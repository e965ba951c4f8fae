//! Which words of an entry mean something else to users of an earlier gateway.

use crate::world::World;

/// S1: servers to connect at the start; setting it is what only users of S1 do.
const CONNECTED: &str = "CONNECTED_SERVERS";
/// Which systems' users a gateway serves, when it is said.
const COMPAT: &[&str] = &["LIMBECK_COMPAT", "CODE_MODE_COMPAT"];

/// Whether `disabled` in a client's file means "not by itself": so it is for users of S1, whose disabled servers start when
/// a program calls them. A server that must never start has `blocked` for them.
pub(crate) fn disabled_means_on_demand(world: &World) -> bool {
    let mut said = COMPAT
        .iter()
        .filter_map(|name| world.nonempty_variable(name));
    match said.next() {
        Some(systems) => systems.split(',').any(|system| {
            let system = system.trim();
            system.eq_ignore_ascii_case("s1") || system.eq_ignore_ascii_case("all")
        }),
        None => world.variable(CONNECTED).is_some(),
    }
}
