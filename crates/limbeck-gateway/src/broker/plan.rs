//! Plan of a program: the calls of its text that one question is about, and the calls that its answer covers.
//!
//! A call is a line of the plan where the preset asks about it by the plan, with any values of its computed arguments. Everything
//! else is asked about when it is made: calls under computed names, tools that no list has, and what a rule asks about.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_catalog::{Catalog, Tool};
use limbeck_domain::{
    ApprovalPlan, EffectClass, PlanConstant, PlanCount, PlanSite, PlanSource, Repeat, Site, Sites,
    ToolId,
};
use limbeck_policy::{Decided, Facts, MANY_DEFAULT, PlanLine, Policy, Question, Scope};

use super::Broker;
use super::prepare::visible;
use crate::clock::now_us;
use crate::live_catalog::LiveCatalog;
use crate::policy_in_force::PolicyVersion;
use crate::sha256::sha256_hex;

/// Calls of a program that are looked up at once, as for its check.
const SITES_AT_ONCE_MAX: usize = 8;
/// Most bytes of a name in a plan: a longer one would be cut in what the person reads.
const NAME_BYTES_MAX: usize = 80;
/// Most bytes of a plan as JSON text.
const PLAN_BYTES_MAX: usize = 48 << 10;

impl Broker {
    /// The plan of the program whose calls were checked, with `input` as JSON text. `None` where there is nothing that a person
    /// could accept together: no call that the preset asks about, or destructive ones alone, which it asks about each.
    pub(crate) async fn planned(&self, input: &str) -> Option<ApprovalPlan> {
        let sites = Arc::clone(self.program.sites.get()?);
        if sites.sites.is_empty() {
            return None;
        }
        let by = self.context.policy.newest();
        let lines = PlanLines {
            catalog: self.context.live_catalog.snapshot(),
            live_catalog: self.context.live_catalog.clone(),
            scope: Arc::clone(&self.scope),
            policy: Arc::clone(by.policy()),
            who: self.requester().names().map(str::to_owned).into(),
        };
        let (lines, asked_singly, unresolved) = if sites.sites.len() <= SITES_AT_ONCE_MAX {
            lines.of(&sites)
        } else {
            self.computed(move || lines.of(&sites)).await.ok()?
        };
        // A line that lets nothing out is not worth a question.
        let together = |line: &PlanSite| {
            line.class != EffectClass::Destructive && (unresolved == 0 || line.is_exact())
        };
        if !lines.iter().any(together) {
            return None;
        }
        let plan = ApprovalPlan {
            lines,
            program_sha256: sha256_hex(self.program.text.as_bytes()),
            input_sha256: sha256_hex(input.as_bytes()),
            asked_singly,
            unresolved,
        };
        let json = serde_json::to_string(&plan).ok()?;
        (json.len() <= PLAN_BYTES_MAX).then_some(plan)
    }

    /// The decision about a call that the policy asks about, where people accepted lines of the program's plan. A call that was
    /// decided about before, on the line `counted` of the grant, is not counted a second time.
    pub(super) fn covered(
        &self,
        question: Box<Question>,
        by: &PolicyVersion,
        tool: &Tool,
        counted: Option<usize>,
    ) -> Decided {
        let Some(grant) = self.plan.grant() else {
            return Decided::Ask(question);
        };
        let sha256 = sha256_hex(question.arguments().as_str().as_bytes());
        // A person said no to this very call.
        if self.asks.denied_before(tool.id(), &sha256).is_some() {
            return Decided::Ask(question);
        }
        // The definition as it is now, and not as it was shown.
        let pin = self.context.live_catalog.pin_of(tool);
        by.covered(
            question,
            &self.scope,
            &self.requester(),
            grant,
            (&pin, counted),
        )
    }
}

/// What the lines of a plan depend on.
struct PlanLines {
    catalog: Arc<Catalog>,
    live_catalog: LiveCatalog,
    scope: Arc<Scope>,
    policy: Arc<Policy>,
    who: Vec<String>,
}

impl PlanLines {
    /// The lines, the number of other places in the text whose calls are asked about when they are made, and how many of those
    /// may call any tool.
    fn of(&self, sites: &Sites) -> (Vec<PlanSite>, u32, u32) {
        let who: Vec<&str> = self.who.iter().map(String::as_str).collect();
        let facts = Facts {
            scope: &self.scope,
            policy: &self.policy,
            who: &who,
            now_us: now_us(),
        };
        let catalog = visible(&self.catalog, &self.scope);
        let mut pins: HashMap<ToolId, String> = HashMap::new();
        let mut lines = Vec::new();
        let unread = sites.unread.map_or(0, |unread| unread.count as usize);
        let mut unresolved = sites.dynamic.len() + unread;
        let mut asked_singly = unresolved;
        for site in sites.sites.iter().filter(|site| !site.idle) {
            let Some(tool) = catalog.tool_of(site) else {
                unresolved += 1;
                asked_singly += 1;
                continue;
            };
            let class = self.policy.classes.of(tool.id(), tool.effect());
            let mut line = PlanSite {
                tool: tool.id().clone(),
                pin: None,
                class: class.class,
                class_from: class.source.as_str().to_owned(),
                line: site.line,
                count: count_of(site.repeat),
                constants: constants(site),
                open: open(site),
                complete: site.complete,
                from: sources(site, sites),
            };
            let is_whole = is_shown_whole(&line);
            unresolved += usize::from(!is_whole);
            if is_whole && facts.plans(&PlanLine::of(&line, false), class) {
                let pin = pins.entry(line.tool.clone());
                let pin = pin.or_insert_with(|| self.live_catalog.pin_of(&tool));
                line.pin = Some(pin.clone());
                lines.push(line);
            } else {
                let note = facts.note(tool.id(), tool.effect());
                asked_singly += usize::from(note.is_some_and(|note| !note.is_denied()));
            }
        }
        let count = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
        (lines, count(asked_singly), count(unresolved))
    }
}

/// Whether no name of the line is cut where a person reads it.
fn is_shown_whole(line: &PlanSite) -> bool {
    let constants = line.constants.iter().map(|constant| &constant.name);
    let mut names = constants.chain(&line.open);
    names.all(|name| name.len() <= NAME_BYTES_MAX)
        && line.tool.tool.len() <= NAME_BYTES_MAX
        && line.tool.server.as_str().len() <= NAME_BYTES_MAX
}

fn count_of(repeat: Repeat) -> PlanCount {
    match repeat {
        Repeat::Once => PlanCount::Once,
        Repeat::AtMost(most) => PlanCount::AtMost(most),
        Repeat::Many | Repeat::Endless => PlanCount::Many(MANY_DEFAULT),
    }
}

fn constants(site: &Site) -> Vec<PlanConstant> {
    let constants = site.arguments.iter().filter_map(|argument| {
        Some(PlanConstant {
            name: argument.name.clone(),
            json: argument.value.as_ref()?.to_string(),
        })
    });
    constants.collect()
}

fn open(site: &Site) -> Vec<String> {
    let open = site.arguments.iter();
    let open = open.filter(|argument| argument.value.is_none());
    open.map(|argument| argument.name.clone()).collect()
}

/// The calls whose results the arguments may have parts of.
fn sources(site: &Site, sites: &Sites) -> Vec<PlanSource> {
    let mut sources: Vec<PlanSource> = Vec::new();
    let used = site.uses.iter().filter_map(|at| {
        let at = usize::try_from(*at).ok()?;
        sites.sites.get(at)
    });
    for used in used {
        let tool = match &used.server {
            Some(server) => format!("{server}.{}", used.tool),
            None => used.tool.clone(),
        };
        let source = PlanSource {
            tool,
            line: used.line,
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}
