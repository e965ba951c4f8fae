//! Spread of the first hits over servers.
//!
//! A server with many similar tools fills the first places for a query that it answers badly, and the tool that was meant
//! is not shown. So one of the first places is kept for the other servers, unless the query names the server or no other
//! matches.

use limbeck_domain::ServerName;

use crate::SearchHit;

/// Places that are spread: what a caller sees who asks for no number.
pub(crate) const PLACES: usize = 5;
/// Most of them for one server. Recall over the labeled queries is that of the scores alone; with three it falls by two
/// points, because tools of the right server lose their places.
const OF_ONE_SERVER_MAX: usize = 4;

/// Hits in a new order: the first places spread, all others in the order of their scores. `named` are exempt.
///
/// # Errors
///
/// The hits as they were, when they have no tool for one of the first places.
pub(crate) fn spread(
    hits: Vec<SearchHit>,
    named: &[ServerName],
) -> Result<Vec<SearchHit>, Vec<SearchHit>> {
    let first = first_places(&hits, named);
    if first.len() < PLACES {
        return Err(hits);
    }
    let mut order: Vec<usize> = first.clone();
    order.extend((0..hits.len()).filter(|place| !first.contains(place)));
    Ok(order.into_iter().map(|place| hits[place].clone()).collect())
}

/// Places in `hits` of those that come first.
fn first_places(hits: &[SearchHit], named: &[ServerName]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::with_capacity(PLACES);
    for (place, hit) in hits.iter().enumerate() {
        let server = &hit.tool.id().server;
        let of_server = first
            .iter()
            .filter(|one| hits[**one].tool.id().server == *server);
        if named.contains(server) || of_server.count() < OF_ONE_SERVER_MAX {
            first.push(place);
        }
        if first.len() == PLACES {
            break;
        }
    }
    first
}
