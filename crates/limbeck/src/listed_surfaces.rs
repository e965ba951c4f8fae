//! Which tools clients list: those of the gateway, or those of earlier systems that `--compat`, a variable or the rest of the
//! environment names.

use anyhow::anyhow;
use limbeck_domain::ServerName;
use limbeck_server::surface::{CompatOptions, ExecutionLog, PayloadForm, Predecessor};
use limbeck_setup::World;

use crate::earlier_settings::EarlierReading;
use crate::exit::CommandError;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::wiring::EffectiveSetting;

/// Variables that name surfaces as `--compat` does, in their order.
const VARIABLES: [&str; 2] = ["LIMBECK_COMPAT", "CODE_MODE_COMPAT"];
/// S1: servers that are connected when the gateway starts, with commas.
const CONNECTED_SERVERS: &str = "CONNECTED_SERVERS";
/// S0: whether it kept a log of executions, and where.
const LOG_EXECUTIONS: &str = "ENABLE_AUDIT_LOG";
const EXECUTION_LOG: &str = "AUDIT_LOG_PATH";
/// Form of the results of S2's tool.
const PAYLOAD_FORM: &str = "MCP_BRIDGE_OUTPUT_MODE";

/// Surfaces and the reason for them.
#[derive(Debug)]
pub(crate) struct ListedSurfaces {
    pub(crate) options: CompatOptions,
    reason: Reason,
}

#[derive(Debug, PartialEq, Eq)]
enum Reason {
    /// `--compat`
    Option,
    /// This variable names them.
    Named(&'static str),
    /// This variable was read by that system alone.
    Pointed(String),
    /// Variables of several systems are set.
    Ambiguous(Vec<String>),
    Default,
}

impl ListedSurfaces {
    /// Chooses surfaces: those that were asked for, else by the environment.
    ///
    /// # Errors
    ///
    /// A variable that names an unknown surface.
    pub(crate) fn choose(
        invocation: &Invocation,
        asked: Option<&[Predecessor]>,
    ) -> Result<Self, CommandError> {
        let world = &invocation.world;
        let payload = world.nonempty_variable(PAYLOAD_FORM);
        let payload = payload.map(PayloadForm::from_setting).unwrap_or_default();
        let connected_first = world.nonempty_variable(CONNECTED_SERVERS).map(|names| {
            let names = names.split(',').map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            names.map(ServerName::from).collect()
        });
        let earlier = EarlierReading::of(world)?;
        earlier.warn(&invocation.printer);
        let execution_log = execution_log(world).or(earlier.execution_log);
        let settings = earlier.settings;
        let chosen = |listed: Vec<Predecessor>, reason: Reason| Self {
            options: CompatOptions {
                listed,
                payload,
                connected_first,
                execution_log,
                settings,
            },
            reason,
        };
        if let Some(asked) = asked {
            return Ok(chosen(asked.to_vec(), Reason::Option));
        }
        for name in VARIABLES {
            let Some(value) = world.nonempty_variable(name) else {
                continue;
            };
            let systems = CompatOptions::systems(value);
            let systems =
                systems.map_err(|error| CommandError::usage(anyhow!("{name}: {error}")))?;
            return Ok(chosen(systems, Reason::Named(name)));
        }
        let set = world.variables.iter();
        // An empty variable chooses nothing.
        let set = set.filter(|(_, value)| !value.is_empty());
        let pointed = CompatOptions::pointed_to(set.map(|(name, _)| name.as_str()));
        Ok(match &pointed[..] {
            [] => chosen(Vec::new(), Reason::Default),
            [(system, name)] => chosen(vec![*system], Reason::Pointed((*name).to_owned())),
            several => {
                let names = several.iter().map(|(_, name)| (*name).to_owned());
                chosen(Vec::new(), Reason::Ambiguous(names.collect()))
            }
        })
    }

    /// Says on standard error what is listed, when that is not `search` and `execute`, or could have been another.
    pub(crate) fn note(&self, printer: &Printer) {
        let products = self.options.listed.iter().map(|system| system.product());
        let products: Vec<&str> = products.collect();
        let products = products.join(" and ");
        match &self.reason {
            Reason::Pointed(name) => printer.note(&format!(
                "lists the tools of {products}, because `{name}` is set; `--compat none` lists `search` and `execute`"
            )),
            Reason::Ambiguous(names) => printer.note(&format!(
                "lists `search` and `execute`: {} are set, which different systems read; `--compat s0`, `s1` or `s2` lists the tools of one",
                names.join(" and ")
            )),
            Reason::Option | Reason::Named(_) if !products.is_empty() => {
                printer.note(&format!("lists the tools of {products} ({})", self.source()));
            }
            Reason::Option | Reason::Named(_) | Reason::Default => {}
        }
    }

    /// The names of the surfaces with their source, for `doctor`.
    pub(crate) fn effective(&self) -> EffectiveSetting<Vec<&'static str>> {
        let names = self.options.listed.iter().map(|system| system.as_str());
        EffectiveSetting {
            value: names.collect(),
            source: self.source(),
        }
    }

    fn source(&self) -> String {
        match &self.reason {
            Reason::Option => "--compat".to_owned(),
            Reason::Named(name) => (*name).to_owned(),
            Reason::Pointed(name) => format!("{name} is set"),
            Reason::Ambiguous(names) => format!("ambiguous: {} are set", names.join(" and ")),
            Reason::Default => "default".to_owned(),
        }
    }
}

/// The log of executions, where it is turned on as S0's users do.
fn execution_log(world: &World) -> Option<ExecutionLog> {
    if world.variable(LOG_EXECUTIONS) != Some("true") {
        return None;
    }
    let path = world.nonempty_variable(EXECUTION_LOG);
    let path = world.cwd.join(path.unwrap_or("audit.log"));
    Some(ExecutionLog::new(path))
}
