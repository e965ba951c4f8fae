//! The Python guest. It was pre-initialised when its component was made.

use std::fs;

use wasmtime::Engine;

use crate::artifact::{Artifact, sha256};
use crate::out;

pub(crate) fn make(target: &Engine) {
    let artifact = Artifact::read("guest-py");
    artifact.once(target, include_str!("python.rs"), || {
        let component = artifact.unpack();
        let machine_code = target
            .precompile_component(&component)
            .expect("the guest compiles");
        fs::write(out("guest-py.cwasm"), machine_code).expect("OUT_DIR is writable");
        fs::write(out("guest-py.sha256"), sha256(&component)).expect("OUT_DIR is writable");
    });
}
