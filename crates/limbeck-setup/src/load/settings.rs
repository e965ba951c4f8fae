//! What `limbeck.toml` says besides servers.

use limbeck_domain::Tier;
use limbeck_domain::limits::WALL_MS_MAX;

use super::{Loader, Open};
use crate::Setting;
use crate::document::Place;
use crate::entry::Scope;
use crate::error::{Fault, Level};
use crate::server::unknown_key;

/// `[limits]` of `limbeck.toml`.
const LIMIT_KEYS: &[&str] = &["wall_ms"];
/// `[sandbox]` of `limbeck.toml`.
const SANDBOX_KEYS: &[&str] = &["minimum_tier"];

impl Loader<'_> {
    pub(super) fn limits(&mut self, open: &Open<'_>, place: &Place<'_>) -> Result<(), Fault> {
        for (key, value) in place.entries()? {
            match key {
                "wall_ms" => {
                    self.found.settings.wall_ms = Some(Setting {
                        value: value.number(1, WALL_MS_MAX)?,
                        origin: open.origin(&value),
                    });
                }
                _ => {
                    return Err(Fault {
                        at: value.at,
                        ..value.fault(unknown_key(LIMIT_KEYS, key))
                    });
                }
            }
        }
        Ok(())
    }

    /// Off wins: whoever wants nothing kept of results must not be outvoted by a weaker or a later file.
    pub(super) fn observe(&mut self, open: &Open<'_>, place: &Place<'_>) -> Result<(), Fault> {
        let value = place.boolean()?;
        let observe = &mut self.found.settings.observe;
        if !value || observe.is_none() {
            *observe = Some(Setting {
                value,
                origin: open.origin(place),
            });
        }
        Ok(())
    }

    pub(super) fn sandbox(&mut self, open: &Open<'_>, place: &Place<'_>) -> Result<(), Fault> {
        // Until it is read to its end: whoever wrote it wanted something of the sandbox, and a
        // misspelt wish must not become a weaker one.
        let before = self.found.settings.minimum_tier.replace(Setting {
            value: Tier::Strict,
            origin: open.origin(place),
        });
        let mut asked = None;
        for (key, value) in place.entries()? {
            match key {
                "minimum_tier" => asked = Some((tier(&value)?, value)),
                _ => {
                    return Err(Fault {
                        at: value.at,
                        ..value.fault(unknown_key(SANDBOX_KEYS, key))
                    });
                }
            }
        }
        self.found.settings.minimum_tier = before;
        if let Some((tier, place)) = asked {
            self.minimum_tier(open, tier, &place);
        }
        Ok(())
    }

    /// Takes a minimum over, unless a repository wants less than holds without it.
    fn minimum_tier(&mut self, open: &Open<'_>, tier: Tier, place: &Place<'_>) {
        let current = &self.found.settings.minimum_tier;
        let (least, whose) = match current {
            Some(setting) => (setting.value, setting.origin.to_string()),
            None => (Tier::MINIMUM_DEFAULT, "the default".to_owned()),
        };
        if open.source.scope == Scope::Repository && tier < least {
            let told = place.fault(format!(
                "`{tier}` is below `{least}` ({whose}) and is not used: a file of the repository can only raise it"
            ));
            self.found.notes.push(open.note(Level::Warning, told));
            return;
        }
        self.found.settings.minimum_tier = Some(Setting {
            value: tier,
            origin: open.origin(place),
        });
    }
}

/// A tier by its name.
fn tier(place: &Place<'_>) -> Result<Tier, Fault> {
    let tiers = [Tier::Wasm, Tier::Strict];
    let named = place.text()?;
    tiers
        .into_iter()
        .find(|tier| tier.as_str() == named)
        .ok_or_else(|| place.fault("expected `strict` or `wasm`"))
}
