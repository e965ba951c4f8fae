//! Suggested edits of a program, where one correction is likely.

use limbeck_domain::{ServerName, Site};
use serde_json::Value;

use super::findings::Edit;
use super::shown;
use crate::nearest::nearest;
use crate::resolve::ResolveError;
use crate::tool::Tool;

/// Replaces a misspelled server or tool name by the likeliest one.
pub(super) fn of_name(error: &ResolveError, site: &Site) -> Option<Edit> {
    match error {
        ResolveError::UnknownServer {
            nearest, elsewhere, ..
        } => {
            let asked = site.server.as_deref()?;
            // A server of another name that has such a tool is not the one that was meant.
            let is_similar = |server: &&ServerName| nearest.contains(server);
            let with_tool = elsewhere.iter().map(|tool| &tool.server).find(is_similar);
            let meant = with_tool.or_else(|| nearest.first())?;
            Some(Edit::new(shown(asked), meant.as_str()))
        }
        ResolveError::UnknownTool { nearest, .. } => {
            let meant = nearest.first()?;
            match &site.server {
                Some(_) => Some(Edit::new(shown(&site.tool), &*meant.tool)),
                None => {
                    let full = format!("mcp__{}__{}", meant.server, meant.tool);
                    Some(Edit::new(shown(&site.tool), full))
                }
            }
        }
        ResolveError::NoServers
        | ResolveError::AmbiguousServer { .. }
        | ResolveError::AmbiguousName { .. }
        | ResolveError::UncertainName { .. }
        | ResolveError::AbsentServer { .. }
        | ResolveError::SwitchedOff { .. }
        | ResolveError::AmbiguousTool { .. } => None,
    }
}

/// Replaces the first argument name or constant that the schema does not list by the likeliest one.
pub(super) fn of_arguments(tool: &Tool, site: &Site) -> Option<Edit> {
    let listed = tool
        .definition()
        .input_schema
        .get("properties")?
        .as_object()?;
    site.arguments.iter().find_map(|argument| {
        let Some(schema) = listed.get(&argument.name) else {
            let is_free = |name: &&String| !site.arguments.iter().any(|given| given.name == **name);
            let free = listed.keys().filter(is_free);
            let meant = nearest(&argument.name, free.map(|name| (name.as_str(), name)));
            return meant
                .first()
                .map(|meant| Edit::new(shown(&argument.name), shown(meant)));
        };
        let values = schema.get("enum")?.as_array()?;
        let Some(Value::String(written)) = &argument.value else {
            return None;
        };
        let texts = || values.iter().filter_map(Value::as_str);
        if texts().any(|text| text == written) {
            return None;
        }
        let meant = nearest(written, texts().map(|text| (text, text)));
        meant
            .first()
            .map(|meant| Edit::new(shown(written), shown(meant)))
    })
}
