//! `limbeck doctor --sandbox`: state of each sandbox layer, and outcome of escape attempts from inside a worker.
//!
//! A layer is held when the worker has verified that it is in place. An attempt shows that the layers have their effect:
//! it is made in native code, as by a guest that controls its worker.

use std::fmt;

use limbeck_domain::text::clean_line;
use limbeck_domain::{Layer, Sandbox, Tier};
use limbeck_launcher::{MemoryBound, ProbeOutcome, ProbeReport, SandboxFloor};
use serde::Serialize;

use crate::printer::Printer;
use crate::table::{TextTable, Tone};
use crate::wiring::EffectiveSetting;

/// Longest text of a worker or the kernel that is shown, in bytes.
const TEXT_BYTES_MAX: usize = 300;

/// Platform that the sandbox depends on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MachineInfo {
    /// Operating system and processor: `linux x86_64`.
    platform: String,
    /// Release of the kernel, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
}

impl MachineInfo {
    /// Reads the platform of this machine.
    pub(super) fn read() -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        Self {
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            kernel: kernel.ok().map(|kernel| kernel.trim().to_owned()),
        }
    }
}

impl fmt::Display for MachineInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.platform)?;
        match &self.kernel {
            Some(kernel) => write!(f, ", kernel {kernel}"),
            None => Ok(()),
        }
    }
}

/// JSON of `limbeck doctor --sandbox --json`.
#[derive(Debug, Serialize)]
pub(super) struct SandboxReport {
    version: &'static str,
    tier: Tier,
    minimum_tier: Tier,
    minimum_tier_source: String,
    /// Layers that have to hold in any tier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    require_layers: Vec<Layer>,
    /// Those of them that do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacking: Vec<Layer>,
    #[serde(flatten)]
    machine: MachineInfo,
    memory_group: MemoryBound,
    layers: Vec<LayerReport>,
    probes: Vec<AttemptReport>,
    /// Whether the tier is at least the minimum and no attempt succeeded.
    pub(super) ok: bool,
}

#[derive(Debug, Serialize)]
struct LayerReport {
    layer: Layer,
    description: &'static str,
    held: bool,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct AttemptReport {
    name: &'static str,
    what: &'static str,
    layers: &'static [Layer],
    #[serde(flatten)]
    outcome: AttemptOutcome,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum AttemptOutcome {
    Denied { errno: i32, error: String },
    Killed { signal: i32, error: String },
    Reached { detail: String },
}

impl SandboxReport {
    pub(super) fn new(
        sandbox: &Sandbox,
        minimum: EffectiveSetting<Tier>,
        floor: &SandboxFloor,
        memory_group: MemoryBound,
        probes: &[ProbeReport],
        machine: MachineInfo,
    ) -> Self {
        let probes: Vec<AttemptReport> = probes.iter().map(AttemptReport::of).collect();
        let reached = probes.iter().any(AttemptReport::reached);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            tier: sandbox.tier,
            ok: floor.is_met_by(sandbox) && !reached,
            lacking: floor.lacking(sandbox).collect(),
            require_layers: floor.layers.clone(),
            minimum_tier: minimum.value,
            minimum_tier_source: minimum.source,
            machine,
            memory_group,
            layers: layers(sandbox),
            probes,
        }
    }

    /// Prints the tables on standard output and the problems on standard error.
    pub(super) fn print(&self, printer: &Printer) {
        let mut head = TextTable::default();
        head.row(["tier", self.tier.as_str()]);
        let minimum = format!("{} ({})", self.minimum_tier, self.minimum_tier_source);
        head.row(["minimum tier", &minimum]);
        if !self.require_layers.is_empty() {
            let names: Vec<&str> = self.require_layers.iter().map(|it| it.as_str()).collect();
            head.row(["required layers", &names.join(", ")]);
        }
        head.row(["platform", &self.machine.to_string()]);
        // It has names that the system's administrator chose.
        let memory_group = clean_line(&self.memory_group.to_string(), TEXT_BYTES_MAX);
        head.row(["memory group", &memory_group]);
        printer.table(&head);
        printer.data("\n");
        printer.table(&self.layers_table());
        printer.data("\n");
        printer.table(&self.probes_table());
        printer.data_line(&format!("\n{}", self.summary()));
        if !self.lacking.is_empty() {
            let names: Vec<&str> = self.lacking.iter().map(|layer| layer.as_str()).collect();
            printer.error(&format!(
                "`require_layers` asks for {}, which {} not hold: programs are rejected",
                names.join(", "),
                if names.len() == 1 { "does" } else { "do" }
            ));
        }
        if self.tier < self.minimum_tier {
            printer.error(&format!(
                "the sandbox tier is `{}`, below the minimum `{}`: programs are rejected",
                self.tier, self.minimum_tier
            ));
            printer.hint(&format!(
                "to run programs without the missing layers, set `minimum_tier = \"{0}\"` under `[sandbox]` in ~/.config/limbeck/config.toml, or pass `--minimum-tier {0}`",
                self.tier
            ));
        }
        for attempt in self.probes.iter().filter(|attempt| attempt.reached()) {
            let layers: Vec<&str> = attempt.layers.iter().map(|one| one.as_str()).collect();
            printer.error(&format!(
                "attempt `{}` succeeded, although each of these layers should deny it: {}",
                attempt.name,
                layers.join(", ")
            ));
        }
    }

    fn layers_table(&self) -> TextTable {
        let header = ["layer", "state", "what it removes"];
        let mut table = TextTable::with_header(header).tones(1, |state| match state {
            "held" => Tone::Good,
            "missing" => Tone::Bad,
            _ => Tone::Plain,
        });
        for layer in &self.layers {
            let state = match (layer.held, layer.required) {
                (true, _) => "held",
                (false, true) => "missing",
                (false, false) => "missing, not required",
            };
            let what = match &layer.reason {
                Some(reason) => format!("{}: {reason}", layer.description),
                None => layer.description.to_owned(),
            };
            table.row([layer.layer.as_str(), state, &what]);
        }
        table
    }

    fn probes_table(&self) -> TextTable {
        let header = ["attempt", "outcome", "action"];
        let mut table = TextTable::with_header(header).tones(1, |outcome| {
            match outcome.starts_with("REACHED") {
                true => Tone::Bad,
                false => Tone::Plain,
            }
        });
        for attempt in &self.probes {
            table.row([attempt.name, &attempt.outcome.text(), attempt.what]);
        }
        table
    }

    fn summary(&self) -> String {
        let reached = self.probes.iter().filter(|one| one.reached()).count();
        format!(
            "{} attempts from inside a worker, {reached} succeeded",
            self.probes.len()
        )
    }
}

/// Every layer in the order it is set up. A layer that the worker did not report is missing.
fn layers(sandbox: &Sandbox) -> Vec<LayerReport> {
    let report = |layer: &Layer| {
        let held = sandbox.held.contains(layer);
        let missing = sandbox.missing.iter().find(|one| one.layer == *layer);
        let reason = missing.map_or("the worker did not report it", |missing| &missing.reason);
        LayerReport {
            layer: *layer,
            description: layer.description(),
            held,
            required: layer.required(),
            reason: (!held).then(|| clean_line(reason, TEXT_BYTES_MAX)),
        }
    };
    Layer::ALL.iter().map(report).collect()
}

impl AttemptReport {
    fn of(report: &ProbeReport) -> Self {
        Self {
            name: report.name,
            what: report.what,
            layers: report.layers,
            outcome: AttemptOutcome::of(&report.outcome),
        }
    }

    fn reached(&self) -> bool {
        matches!(self.outcome, AttemptOutcome::Reached { .. })
    }
}

impl AttemptOutcome {
    fn of(outcome: &ProbeOutcome) -> Self {
        match outcome {
            ProbeOutcome::Denied { errno, error } => Self::Denied {
                errno: *errno,
                error: clean_line(error, TEXT_BYTES_MAX),
            },
            ProbeOutcome::Killed { signal } => Self::Killed {
                signal: *signal,
                error: signal_text(*signal),
            },
            ProbeOutcome::Reached { detail } => Self::Reached {
                detail: clean_line(detail, TEXT_BYTES_MAX),
            },
        }
    }

    fn text(&self) -> String {
        match self {
            // The error number is in the JSON only.
            Self::Denied { error, .. } => {
                let words = error.split(" (os error").next().unwrap_or(error);
                format!("denied: {words}")
            }
            Self::Killed { error, .. } => format!("killed: {error}"),
            Self::Reached { detail } => format!("REACHED: {detail}"),
        }
    }
}

/// Meaning of the signals that end a worker.
fn signal_text(signal: i32) -> String {
    match signal {
        9 => "signal 9, by the kernel".to_owned(),
        11 => "signal 11, by memory protection".to_owned(),
        31 => "signal 31, by the system call filter".to_owned(),
        other => format!("signal {other}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DENIED: ProbeReport = ProbeReport {
        name: "open",
        what: "open a file",
        layers: &[Layer::EmptyRoot, Layer::Seccomp],
        outcome: ProbeOutcome::Killed { signal: 31 },
    };

    fn report(sandbox: &Sandbox, minimum: Tier, probes: &[ProbeReport]) -> SandboxReport {
        let minimum = EffectiveSetting {
            value: minimum,
            source: "default".to_owned(),
        };
        let machine = MachineInfo {
            platform: "linux test".to_owned(),
            kernel: Some("1.0".to_owned()),
        };
        let group = MemoryBound::Absent {
            reason: "of the test".to_owned(),
        };
        let floor = minimum.value.into();
        SandboxReport::new(sandbox, minimum, &floor, group, probes, machine)
    }

    fn reached() -> ProbeReport {
        ProbeReport {
            name: "connect",
            outcome: ProbeOutcome::Reached {
                detail: "127.0.0.1\u{1b}[31m".to_owned(),
            },
            ..DENIED
        }
    }

    #[test]
    fn the_report_is_ok_only_at_the_minimum_tier_and_with_every_attempt_denied() {
        let strict = Sandbox::of(Layer::ALL.to_vec(), Vec::new());
        let wasm = Sandbox::wasm_only("this platform has none");
        assert!(report(&strict, Tier::Strict, &[DENIED]).ok);
        assert!(report(&wasm, Tier::Wasm, &[DENIED]).ok);
        assert!(!report(&wasm, Tier::Strict, &[DENIED]).ok);
        assert!(!report(&strict, Tier::Strict, &[DENIED, reached()]).ok);
    }

    #[test]
    fn every_layer_is_shown_and_one_that_was_not_reported_is_missing() {
        let held = Layer::ALL.iter().copied();
        let held = held.filter(|layer| *layer != Layer::Speculation).collect();
        let report = report(&Sandbox::of(held, Vec::new()), Tier::Strict, &[]);
        let json = serde_json::to_value(&report).unwrap();
        let layers = json["layers"].as_array().unwrap();
        assert_eq!(layers.len(), Layer::ALL.len());
        let speculation = &layers[Layer::ALL.len() - 2];
        assert_eq!(speculation["layer"], "speculation");
        assert_eq!(speculation["held"], false);
        assert_eq!(speculation["required"], false);
        assert_eq!(speculation["reason"], "the worker did not report it");
        assert_eq!(layers[0]["reason"], json!(null));
        assert!(
            report
                .layers_table()
                .text()
                .contains("missing, not required")
        );
    }

    #[test]
    fn an_outcome_is_named_and_loses_its_control_characters() {
        let wasm = Sandbox::wasm_only("this platform has none");
        let report = report(&wasm, Tier::Wasm, &[DENIED, reached()]);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["platform"], "linux test");
        assert_eq!(
            json["memory_group"],
            json!({"state": "absent", "reason": "of the test"})
        );
        assert_eq!(
            json["probes"][0],
            json!({"name": "open", "what": "open a file", "layers": ["empty_root", "seccomp"],
                   "outcome": "killed", "signal": 31, "error": "signal 31, by the system call filter"})
        );
        assert_eq!(json["probes"][1]["outcome"], "reached");
        let text = report.probes_table().text();
        assert!(text.contains("REACHED: 127.0.0.1") && !text.contains('\u{1b}'));
        let summary = report.summary();
        assert_eq!(summary, "2 attempts from inside a worker, 1 succeeded");
    }
}
