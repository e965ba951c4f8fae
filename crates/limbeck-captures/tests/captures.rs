//! The captured lists are whole.

use limbeck_captures::{Capture, captures};

#[test]
fn every_capture_has_its_own_name_and_tools_that_can_be_defined() {
    let captures = captures();
    assert!(
        captures
            .windows(2)
            .all(|pair| pair[0].server < pair[1].server)
    );
    let tools = captures.iter().map(|capture| capture.definitions().len());
    assert_eq!((captures.len(), tools.sum::<usize>()), (41, 1_502));
    let mut definitions = captures.iter().flat_map(Capture::definitions);
    assert!(definitions.all(|tool| !tool.id.tool.is_empty() && tool.input_schema.is_object()));
}
