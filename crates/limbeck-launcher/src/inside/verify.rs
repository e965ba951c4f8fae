//! Verification of the layers from inside of a worker: a layer holds when its effect is observed, not when the
//! call that puts it up succeeds.

use limbeck_domain::sandbox::REASON_BYTES_MAX;
use limbeck_domain::{Layer, MissingLayer, Sandbox};
use rustix::fs::{CWD, Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, SpeculationFeature, SpeculationFeatureState, dumpable_behavior, getegid,
    geteuid, getgid, getpid, getrlimit, getuid, speculative_feature_state,
};
use rustix::thread::{
    capabilities, capabilities_secure_bits, capability_is_in_bounding_set, no_new_privs,
};

use super::lockdown::{
    CHANNEL, LATE_LIMITS, LIMITS, each_capability, locked_bits, new_code_is_refused,
};
use super::namespaces::Surroundings;

/// Descriptors looked at; those above were closed in one range.
const DESCRIPTORS: i32 = 256;

/// Observations that need files of the zygote, made before they are gone.
#[derive(Debug, Default)]
pub(super) struct Seen {
    held: Vec<Layer>,
}

impl Seen {
    /// Looks at what needs `/proc`: namespaces, and the environment the process was started with.
    pub(super) fn first(surroundings: &Surroundings) -> Self {
        let mut held = surroundings.left();
        // A namespace of its own is one layer; what was put into it is another part of the same.
        held.retain(|layer| {
            let failed = surroundings.failures.iter();
            !failed.map(|missing| missing.layer).any(|one| one == *layer)
        });
        if getpid().as_raw_nonzero().get() != 1 {
            held.retain(|layer| *layer != Layer::PidNamespace);
        }
        if environment_is_empty() {
            held.push(Layer::Environment);
        }
        Self { held }
    }

    /// Looks at Landlock, while a descriptor could still be opened.
    pub(super) fn before_threads(&mut self) {
        if landlock_denies() {
            self.held.push(Layer::Landlock);
        }
    }

    /// Looks at everything else that can still be looked at.
    pub(super) fn before_filter(&mut self) {
        for (layer, holds) in [
            (Layer::Session, leads_its_session()),
            (Layer::Descriptors, descriptors_are_ours()),
            (Layer::ResourceLimits, limits_hold()),
            (Layer::UnprivilegedUser, user_is_unprivileged()),
            (Layer::Capabilities, capabilities_are_gone()),
            (Layer::NoNewPrivileges, no_new_privs().unwrap_or(false)),
            (
                Layer::NotDumpable,
                matches!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable)),
            ),
            (Layer::NoNewCode, new_code_is_refused()),
            (Layer::Speculation, speculation_is_off()),
        ] {
            if holds {
                self.held.push(layer);
            }
        }
    }

    /// Looks at the filter and sums up.
    pub(super) fn sum_up(mut self, failures: Vec<MissingLayer>) -> Sandbox {
        // Landlock returns `EACCES`, the filter `EPERM`; the filter comes first.
        if matches!(open("/", OFlags::PATH, Mode::empty()), Err(Errno::PERM)) {
            self.held.push(Layer::Seccomp);
        }
        self.held.sort_unstable();
        let missing = Layer::ALL
            .iter()
            .filter(|layer| !self.held.contains(layer))
            .map(|layer| MissingLayer {
                layer: *layer,
                reason: reason(*layer, &failures),
            })
            .collect();
        Sandbox::of(self.held, missing)
    }
}

fn reason(layer: Layer, failures: &[MissingLayer]) -> String {
    let failure = failures.iter().find(|failure| failure.layer == layer);
    let mut reason = failure.map_or_else(
        || "it was not seen to hold".to_owned(),
        |failure| failure.reason.clone(),
    );
    let end = reason.floor_char_boundary(REASON_BYTES_MAX);
    reason.truncate(end);
    reason
}

#[expect(
    clippy::disallowed_methods,
    reason = "checks that there is nothing to read"
)]
fn environment_is_empty() -> bool {
    // Its name and its language; the test build passes its layers behind them.
    let arguments = if cfg!(feature = "assume-escape") {
        3
    } else {
        2
    };
    std::env::vars_os().next().is_none() && std::env::args_os().count() <= arguments
}

fn leads_its_session() -> bool {
    #[expect(
        unsafe_code,
        reason = "the safe form takes the result for a process id"
    )]
    // SAFETY: reads a number. It is 0 when the session's leader lives in another PID namespace, which is
    // no process id: rustix would make one of it unchecked.
    let session = unsafe { libc::getsid(0) };
    session == getpid().as_raw_nonzero().get()
}

/// Whether every limit is what it was set to.
fn limits_hold() -> bool {
    LIMITS.iter().chain(LATE_LIMITS).all(|(resource, value)| {
        let limit = getrlimit(*resource);
        limit.current == Some(*value) && limit.maximum == Some(*value)
    })
}

fn descriptors_are_ours() -> bool {
    (0..DESCRIPTORS).all(|number| is_open(number) == (number <= CHANNEL))
}

fn is_open(number: i32) -> bool {
    #[expect(unsafe_code, reason = "a number that may be closed has no safe form")]
    // SAFETY: reads the flags of a number and does not touch the file behind it.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    flags >= 0
}

fn user_is_unprivileged() -> bool {
    let ids = [
        getuid().as_raw(),
        geteuid().as_raw(),
        getgid().as_raw(),
        getegid().as_raw(),
    ];
    ids.iter().all(|id| *id != 0)
}

fn capabilities_are_gone() -> bool {
    let none = capabilities(None)
        .is_ok_and(|sets| (sets.effective | sets.permitted | sets.inheritable).is_empty());
    let unbounded = each_capability()
        .map_while(|capability| capability_is_in_bounding_set(capability).ok())
        .any(|inside| inside);
    let locked = capabilities_secure_bits().is_ok_and(|bits| bits.contains(locked_bits()));
    none && !unbounded && locked
}

/// Landlock denies reading a directory that the file system would allow.
fn landlock_denies() -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    matches!(openat(CWD, "/", flags, Mode::empty()), Err(Errno::ACCESS))
}

fn speculation_is_off() -> bool {
    [
        SpeculationFeature::SpeculativeStoreBypass,
        SpeculationFeature::IndirectBranchSpeculation,
    ]
    .into_iter()
    .all(|feature| match speculative_feature_state(feature) {
        // Not vulnerable, or switched off: permanently by this worker, or by the kernel for every process.
        Ok(Some(state)) => {
            let off = SpeculationFeatureState::DISABLE | SpeculationFeatureState::FORCE_DISABLE;
            state.is_empty() || state.intersects(off)
        }
        Ok(None) | Err(_) => false,
    })
}
