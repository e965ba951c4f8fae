//! Spread of the first hits over servers and texts.
//!
//! A server with many similar tools fills the first places for a query that it answers badly, and the tool that was meant
//! is not shown. Several servers can do the same with tools of nearly the same text. So of the first places one server
//! gets only some, unless the query names it, and so do tools of nearly the same text, of one server or of many.

use limbeck_domain::ServerName;

use crate::SearchHit;

/// Places that are spread: what a caller sees who asks for no number.
pub(crate) const PLACES: usize = 5;
/// Most of them for one server. Of the labeled queries one unseen one loses its answer to this; with three, recall of
/// intents falls by three points, because tools of the right server lose their places.
const OF_ONE_SERVER_MAX: usize = 4;
/// Most of them for tools of nearly the same text.
const OF_ONE_TEXT_MAX: usize = 2;
/// Least cosine of two tools with nearly the same text. Recall is the same from 0.85 to 0.97.
const NEARLY_EQUAL_MIN: f32 = 0.9;

/// Hits in a new order.
pub(crate) struct Spread {
    /// The first places spread, all others in the order of their scores.
    pub(crate) hits: Vec<SearchHit>,
    /// Whether the first places could be filled. Otherwise those hits that are too many of one server or text fill them.
    pub(crate) is_full: bool,
}

/// Spreads the first places of `hits`. Servers that are `named` are exempt, and so are their tools.
pub(crate) fn spread(
    hits: &[SearchHit],
    named: &[ServerName],
    similarity: impl Fn(&SearchHit, &SearchHit) -> f32,
) -> Spread {
    let mut first: Vec<usize> = Vec::with_capacity(PLACES);
    for (place, hit) in hits.iter().enumerate() {
        if first.len() == PLACES {
            break;
        }
        let server = &hit.tool.id().server;
        let taken = || first.iter().map(|place| &hits[*place]);
        let of_server = taken().filter(|other| other.tool.id().server == *server);
        let of_text = taken().filter(|other| similarity(hit, other) >= NEARLY_EQUAL_MIN);
        if named.contains(server)
            || (of_server.count() < OF_ONE_SERVER_MAX && of_text.count() < OF_ONE_TEXT_MAX)
        {
            first.push(place);
        }
    }
    let is_full = first.len() == PLACES;
    let rest: Vec<usize> = (0..hits.len())
        .filter(|place| !first.contains(place))
        .collect();
    let order = first.into_iter().chain(rest);
    Spread {
        hits: order.map(|place| hits[place].clone()).collect(),
        is_full,
    }
}
