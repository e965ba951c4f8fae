//! Reads that several calls share: of a name that has the result of one tool and later of another, a part is absent only where
//! no result has it.

use std::collections::HashMap;

use limbeck_domain::{Site, SiteRead, Sites};

use super::results::{self, PartLookup};
use super::target;
use crate::catalog::Catalog;
use crate::resolve::{self, Resolved, Suggest};

/// Reads of one place that are compared.
const SHARED_MAX: usize = 16;

/// The reads of a program by their places, those alone that several calls share.
pub(super) struct SharedReads<'s>(HashMap<(u32, u32), Vec<(&'s Site, &'s SiteRead)>>);

impl<'s> SharedReads<'s> {
    pub(super) fn of(sites: &'s Sites) -> Self {
        let mut places: HashMap<(u32, u32), Vec<(&Site, &SiteRead)>> = HashMap::new();
        for site in &sites.sites {
            for read in &site.reads {
                let place = places.entry((read.line, read.column)).or_default();
                if place.len() < SHARED_MAX {
                    place.push((site, read));
                }
            }
        }
        places.retain(|_, reads| reads.iter().any(|(site, _)| !is_same(site, reads[0].0)));
        Self(places)
    }

    /// Whether another call that shares a read of `site` may have the part.
    pub(super) fn may_be_of_another(
        &self,
        catalog: &Catalog,
        site: &Site,
        read: &SiteRead,
    ) -> bool {
        let reads = self.0.get(&(read.line, read.column));
        reads.into_iter().flatten().any(|(other, other_read)| {
            if is_same(other, site) {
                return false;
            }
            let Ok(Resolved { tool, .. }) =
                resolve::resolve(catalog, &target(other), Suggest::Nothing)
            else {
                return true;
            };
            tool.output_shape().is_none_or(|shape| {
                results::part(shape.schema, &other_read.path) == PartLookup::Possible
            })
        })
    }
}

fn is_same(one: &Site, other: &Site) -> bool {
    (one.line, one.column) == (other.line, other.column)
}
