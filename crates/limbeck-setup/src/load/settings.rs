//! Settings of `limbeck.toml` besides servers.

use limbeck_domain::limits::{WALL_MS_DEFAULT, WALL_MS_MAX};
use limbeck_domain::{Layer, Tier};

use super::Loader;
use super::open_file::OpenFile;
use crate::configuration::Setting;
use crate::diagnostic::{Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;

/// Keys of `[limits]`.
const LIMIT_KEYS: &[&str] = &["wall_ms", "disk_free_mib"];
/// Largest `disk_free_mib`: a pebibyte.
const DISK_FREE_MIB_MAX: u64 = 1 << 30;
/// Keys of `[serve]`.
const SERVE_KEYS: &[&str] = &["share"];
/// Keys of `[sandbox]`.
const SANDBOX_KEYS: &[&str] = &["minimum_tier", "require_layers"];

impl Loader<'_> {
    pub(super) fn read_limits(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        for (key, value) in place.entries()? {
            match key {
                "wall_ms" => {
                    let wall_ms = value.number(1, WALL_MS_MAX)?;
                    self.apply_wall_ms(file, wall_ms, &value);
                }
                "disk_free_mib" => {
                    let mib = value.number(1, DISK_FREE_MIB_MAX)?;
                    self.apply_disk_free_mib(file, mib, &value);
                }
                _ => {
                    return Err(value.malformed_key(unknown_key(LIMIT_KEYS, key)));
                }
            }
        }
        Ok(())
    }

    /// Applies a time limit, unless it is in a repository's file and longer than the current one.
    fn apply_wall_ms(&mut self, file: &OpenFile<'_>, wall_ms: u64, place: &ConfigPlace<'_>) {
        let current = &self.found.settings.wall_ms;
        let (most, origin) = match current {
            Some(setting) => (setting.value, setting.origin.to_string()),
            None => (WALL_MS_DEFAULT, "the default".to_owned()),
        };
        if file.source.scope == EntryScope::Repository && wall_ms > most {
            let problem = place.malformed(format!(
                "{wall_ms} is above {most} ({origin}) and is ignored: a file of the repository can only lower it"
            ));
            self.report(file, Severity::Warning, problem);
            return;
        }
        self.found.settings.wall_ms = Some(Setting {
            value: wall_ms,
            origin: file.origin(place),
        });
    }

    /// Applies a floor of free disk, unless it is in a repository's file: a lower one could fill the user's disk, a higher one
    /// would keep every program from running.
    fn apply_disk_free_mib(&mut self, file: &OpenFile<'_>, mib: u64, place: &ConfigPlace<'_>) {
        if file.source.scope == EntryScope::Repository {
            let problem = place.malformed(
                "is ignored: a file of a repository cannot choose how much of the disk stays free",
            );
            self.report(file, Severity::Warning, problem);
            return;
        }
        self.found.settings.disk_free_mib = Some(Setting {
            value: mib,
            origin: file.origin(place),
        });
    }

    /// Reads `observe`. `false` wins, in any order of files: it protects the user's results.
    pub(super) fn read_observe(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        let value = place.boolean()?;
        let observe = &mut self.found.settings.observe;
        if !value || observe.is_none() {
            *observe = Some(Setting {
                value,
                origin: file.origin(place),
            });
        }
        Ok(())
    }

    /// Reads `[serve]`, which is about processes of the user, so a repository's file cannot set it.
    pub(super) fn read_serve(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if file.source.scope == EntryScope::Repository {
            let problem = place
                .malformed_key("is ignored: a file of a repository cannot choose how it is served");
            self.report(file, Severity::Warning, problem);
            return Ok(());
        }
        for (key, value) in place.entries()? {
            match key {
                "share" => {
                    self.found.settings.share = Some(Setting {
                        value: value.boolean()?,
                        origin: file.origin(&value),
                    });
                }
                _ => return Err(value.malformed_key(unknown_key(SERVE_KEYS, key))),
            }
        }
        Ok(())
    }

    pub(super) fn read_sandbox(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        // Strict until the section is read to its end: a misspelt key must not leave the sandbox weaker
        // than its author wanted.
        let before = self.found.settings.minimum_tier.replace(Setting {
            value: Tier::Strict,
            origin: file.origin(place),
        });
        let mut asked = None;
        let mut required = None;
        for (key, value) in place.entries()? {
            match key {
                "minimum_tier" => asked = Some((tier(&value)?, value)),
                "require_layers" => required = Some((layers(&value)?, value)),
                _ => {
                    return Err(value.malformed_key(unknown_key(SANDBOX_KEYS, key)));
                }
            }
        }
        self.found.settings.minimum_tier = before;
        if let Some((tier, place)) = asked {
            self.apply_minimum_tier(file, tier, &place);
        }
        if let Some((layers, place)) = required {
            self.apply_layers(file, layers, &place);
        }
        Ok(())
    }

    /// Applies required layers. A repository's file adds to those of the user.
    fn apply_layers(
        &mut self,
        file: &OpenFile<'_>,
        mut layers: Vec<Layer>,
        place: &ConfigPlace<'_>,
    ) {
        let mut origin = file.origin(place);
        if let Some(before) = &self.found.settings.require_layers
            && file.source.scope == EntryScope::Repository
        {
            layers.extend(&before.value);
            // The floor stays that of the user.
            origin = before.origin.clone();
        }
        layers.sort_unstable();
        layers.dedup();
        self.found.settings.require_layers = Some(Setting {
            value: layers,
            origin,
        });
    }

    /// Applies a minimum tier, unless it is in a repository's file and lower than the current one.
    fn apply_minimum_tier(&mut self, file: &OpenFile<'_>, tier: Tier, place: &ConfigPlace<'_>) {
        let current = &self.found.settings.minimum_tier;
        let (least, origin) = match current {
            Some(setting) => (setting.value, setting.origin.to_string()),
            None => (Tier::MINIMUM_DEFAULT, "the default".to_owned()),
        };
        if file.source.scope == EntryScope::Repository && tier < least {
            let problem = place.malformed(format!(
                "`{tier}` is below `{least}` ({origin}) and is ignored: a file of the repository can only raise it"
            ));
            self.report(file, Severity::Warning, problem);
            return;
        }
        self.found.settings.minimum_tier = Some(Setting {
            value: tier,
            origin: file.origin(place),
        });
    }
}

/// Reads names of layers.
fn layers(place: &ConfigPlace<'_>) -> Result<Vec<Layer>, ValueError> {
    let layer = |place: ConfigPlace<'_>| {
        let name = place.text()?;
        let mut all = Layer::ALL.iter().copied();
        all.find(|layer| layer.as_str() == name).ok_or_else(|| {
            let names: Vec<&str> = Layer::ALL.iter().map(|layer| layer.as_str()).collect();
            place.malformed(format!("expected one of {}", names.join(", ")))
        })
    };
    place.list()?.into_iter().map(layer).collect()
}

/// Reads the name of a tier.
fn tier(place: &ConfigPlace<'_>) -> Result<Tier, ValueError> {
    let tiers = [Tier::Wasm, Tier::Strict];
    let named = place.text()?;
    tiers
        .into_iter()
        .find(|tier| tier.as_str() == named)
        .ok_or_else(|| place.malformed("expected `strict` or `wasm`"))
}
