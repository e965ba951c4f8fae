//! Lockdown of a worker: the steps between its clone and its first program, in order.
//!
//! Order is part of the protection: the user id is changed while there is still a capability to change
//! it with, Landlock comes after the last file was looked at, the process limit after the last thread
//! was started, and the filter last, because it refuses all that comes before it.
//!
//! A step that fails is recorded and the next one is taken. What the sum is worth the gateway decides.

use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};
use limbeck_domain::limits::{GUEST_MEMORY_BYTES, WALL_MS_MAX, WORKER_OVERHEAD_BYTES};
use limbeck_domain::{Layer, MissingLayer};
use rustix::process::{
    DumpableBehavior, Gid, Resource, Rlimit, Signal, SpeculationFeature, SpeculationFeatureControl,
    SpeculationFeatureState, Uid, control_speculative_feature, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit, setsid, speculative_feature_state,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::ActiveLayers;
use super::seccomp::Filters;

/// The channel's place.
pub(super) const CHANNEL: i32 = 3;
/// Writable memory a worker may map beyond its guest's: stacks, engine, parser, frames in flight. It is
/// counted when it is mapped and not when it is used, so the reserved stack counts whole.
const DATA_BYTES: u64 = (GUEST_MEMORY_BYTES + 2 * WORKER_OVERHEAD_BYTES) as u64 + (512 << 20);

/// Resource limits that the kernel enforces on a worker, even when the guest owns it.
pub(super) const LIMITS: &[(Resource, u64)] = &[
    (Resource::Core, 0),
    (Resource::Fsize, 0),
    (Resource::Memlock, 0),
    (Resource::Msgqueue, 0),
    (Resource::Sigpending, 16),
    (Resource::Nice, 0),
    (Resource::Rtprio, 0),
    // The gateway ends it much sooner; this ends it even without a gateway.
    (Resource::Cpu, WALL_MS_MAX / 1000 + 1),
    (Resource::Data, DATA_BYTES),
];

/// Limits that Landlock and starting threads would run into.
pub(super) const LATE_LIMITS: &[(Resource, u64)] = &[
    // As many as are open.
    (Resource::Nofile, CHANNEL as u64 + 1),
    (Resource::Nproc, 0),
];

/// The layers and what failed of them.
#[derive(Debug)]
pub(super) struct Lockdown {
    layers: ActiveLayers,
    failures: Vec<MissingLayer>,
}

impl Lockdown {
    /// Begins, with what already failed in the zygote.
    pub(super) fn new(layers: ActiveLayers, failures: Vec<MissingLayer>) -> Self {
        Self { layers, failures }
    }

    pub(super) fn into_failures(self) -> Vec<MissingLayer> {
        self.failures
    }

    fn step(&mut self, layer: Layer, step: impl FnOnce() -> io::Result<()>) {
        if !self.layers.has(layer) {
            return;
        }
        if let Err(error) = step() {
            self.failures.push(MissingLayer {
                layer,
                reason: error.to_string(),
            });
        }
    }

    /// Everything but what threads and their starting need. `id` is the user the worker becomes.
    pub(super) fn before_threads(&mut self, id: Option<u32>) {
        self.step(Layer::Session, || Ok(setsid().map(drop)?));
        self.step(Layer::ResourceLimits, || limit_all(LIMITS));
        self.step(Layer::Capabilities, drop_bounding_set);
        if let Some(id) = id {
            self.step(Layer::UnprivilegedUser, || become_user(id));
        }
        self.step(Layer::Capabilities, drop_capabilities);
        // Only now: changing the user takes it back.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        self.step(Layer::NoNewPrivileges, || Ok(set_no_new_privs(true)?));
        self.step(Layer::Landlock, restrict_by_landlock);
        self.step(Layer::NotDumpable, || {
            Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
        });
        self.step(Layer::NoNewCode, refuse_new_code);
        self.step(Layer::Speculation, stop_speculation);
    }

    /// Steps after all threads have started.
    pub(super) fn after_threads(&mut self) {
        self.step(Layer::ResourceLimits, || limit_all(LATE_LIMITS));
    }

    /// The last step.
    pub(super) fn load_filter(&mut self, filters: &Filters) {
        self.step(Layer::Seccomp, || filters.load().map_err(io::Error::other));
    }
}

/// Leaves 0, 1 and 2 to `null`, 3 to the channel, and closes everything else.
///
/// Memory that a closed descriptor was mapped from stays mapped.
pub(super) fn arrange_descriptors(
    layers: ActiveLayers,
    null: OwnedFd,
    channel: OwnedFd,
) -> io::Result<OwnedFd> {
    // Given away as numbers: they are closed as part of a range.
    let (null, channel) = (null.into_raw_fd(), channel.into_raw_fd());
    for stream in 0..CHANNEL {
        dup2(null, stream)?;
    }
    dup2(channel, CHANNEL)?;
    if layers.has(Layer::Descriptors) {
        close_from(CHANNEL.cast_unsigned() + 1)?;
    }
    #[expect(unsafe_code, reason = "the number was made the channel's just now")]
    // SAFETY: `dup2` put the channel there, and nothing else in this process owns that number: the
    // zygote's own descriptors of the numbers up to it were forgotten with the zygote.
    Ok(unsafe { OwnedFd::from_raw_fd(CHANNEL) })
}

fn dup2(from: i32, to: i32) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "the safe form wants an owner of the replaced number"
    )]
    // SAFETY: replaces numbers 0 to 3 of a process that was cloned for this and in which no owner of
    // one of them is used again.
    let result = unsafe { libc::dup2(from, to) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Closes every descriptor from `first` up.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    #[expect(unsafe_code, reason = "closing by number is unsafe by nature")]
    // SAFETY: called where nothing that owns a descriptor from `first` up is used again: at the start
    // of a process, and in a worker after it took what it keeps.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn limit_all(limits: &[(Resource, u64)]) -> io::Result<()> {
    limits
        .iter()
        .try_for_each(|(resource, value)| limit(*resource, *value))
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    setrlimit(resource, limit)
        .map_err(|error| io::Error::new(error.kind(), format!("{resource:?}: {error}")))
}

/// Capabilities of this kernel, by number. The first number that the kernel rejects ends the list.
pub(super) fn each_capability() -> impl Iterator<Item = CapabilitySet> {
    (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number))
}

fn drop_bounding_set() -> io::Result<()> {
    for capability in each_capability() {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    set_capabilities_secure_bits(locked_bits())?;
    Ok(())
}

/// Root means nothing, capabilities do not outlive a change of user, and none of it can be undone.
pub(super) fn locked_bits() -> CapabilitiesSecureBits {
    CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED
}

fn become_user(id: u32) -> io::Result<()> {
    set_thread_groups(&[])?;
    let gid = Gid::from_raw(id);
    set_thread_res_gid(gid, gid, gid)?;
    let uid = Uid::from_raw(id);
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}

/// Handles every right this kernel knows and allows none.
fn restrict_by_landlock() -> io::Result<()> {
    let abi = ABI::V9;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.restrict_self())
        .map_err(io::Error::other)?;
    // An older kernel enforces what it knows; what it does not know is denied by the empty root, the
    // network namespace and the filter as well.
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(io::Error::other("the kernel has no Landlock")),
    }
}

fn refuse_new_code() -> io::Result<()> {
    let flags = libc::c_ulong::from(libc::PR_MDWE_REFUSE_EXEC_GAIN);
    #[expect(unsafe_code, reason = "no crate we use wraps PR_SET_MDWE")]
    // SAFETY: takes numbers only and changes what later calls may do.
    let result = unsafe { libc::prctl(libc::PR_SET_MDWE, flags, 0, 0, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether the kernel refuses to make memory executable that was not.
pub(super) fn new_code_is_refused() -> bool {
    #[expect(unsafe_code, reason = "no crate we use wraps PR_GET_MDWE")]
    // SAFETY: takes numbers only and changes nothing.
    let flags = unsafe { libc::prctl(libc::PR_GET_MDWE, 0, 0, 0, 0) };
    flags >= 0 && flags.cast_unsigned() & libc::PR_MDWE_REFUSE_EXEC_GAIN != 0
}

fn stop_speculation() -> io::Result<()> {
    for feature in [
        SpeculationFeature::SpeculativeStoreBypass,
        SpeculationFeature::IndirectBranchSpeculation,
    ] {
        let state = speculative_feature_state(feature)?.unwrap_or(SpeculationFeatureState::empty());
        if !state.contains(SpeculationFeatureState::PRCTL) {
            // Not affected, or not for a process to decide: the state shows which of the two.
            continue;
        }
        control_speculative_feature(feature, SpeculationFeatureControl::FORCE_DISABLE)?;
    }
    Ok(())
}
