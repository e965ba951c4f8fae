//! Functions that get a part of a result: callbacks of methods, functions with a name, and those of `Object`.

use oxc::ast::ast::{Argument, CallExpression, Expression, FormalParameters};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;

use super::ReadFinder;
use crate::result_part::{PartForm, ResultPart};

/// Methods that call a function with the items of a list, their places and the list.
const OVER_ITEMS: [&str; 10] = [
    "map",
    "forEach",
    "filter",
    "flatMap",
    "find",
    "findLast",
    "some",
    "every",
    "findIndex",
    "findLastIndex",
];
/// Methods whose result has the items of their list.
const KEEPING_ITEMS: [&str; 5] = ["filter", "slice", "toSorted", "sort", "reverse"];
/// Methods whose result is an item of their list.
const GIVING_ITEM: [&str; 3] = ["at", "find", "findLast"];

impl<'a> ReadFinder<'_, '_, 'a> {
    /// Follows what a method gives to functions, and returns what the method itself gives of the part.
    pub(super) fn method(
        &mut self,
        call: &CallExpression<'a>,
        name: &str,
        part: ResultPart,
    ) -> Option<ResultPart> {
        let at = call.node_id();
        let function = call.arguments.first();
        if name == "hasOwnProperty" {
            if let Some(name) = function.and_then(Argument::as_expression) {
                self.asked(name, part);
            }
            return None;
        }
        // Parameters that are items, and the one that is the list.
        let items: &[usize] = match name {
            "reduce" | "reduceRight" => &[1],
            "sort" | "toSorted" => &[0, 1],
            name if OVER_ITEMS.contains(&name) => &[0],
            _ => &[],
        };
        let list = match name {
            "reduce" | "reduceRight" => Some(3),
            name if OVER_ITEMS.contains(&name) => Some(2),
            _ => None,
        };
        for place in items {
            if let Some(item) = part.clone().item(None) {
                self.bind_parameter(at, function, *place, item);
            }
        }
        if let Some(place) = list {
            self.bind_parameter(at, function, place, part.clone());
        }
        match name {
            name if KEEPING_ITEMS.contains(&name) => Some(part),
            "flat" => part.flat(),
            // Of a map that the program fills.
            "get" if part.is_in_list() => part.item(None),
            "values" if part.is_in_list() => Some(part),
            name if GIVING_ITEM.contains(&name) => part.item(None),
            _ => None,
        }
    }

    /// Follows a part that is an argument of a function, and returns what the function gives of it.
    pub(super) fn passed(
        &mut self,
        call: &CallExpression<'a>,
        below: NodeId,
        part: ResultPart,
    ) -> Option<ResultPart> {
        let is_below = |argument: &Argument<'_>| self.tree.is_inside(below, argument.span());
        let place = call.arguments.iter().position(is_below)?;
        if call.arguments[..place].iter().any(Argument::is_spread) {
            return None;
        }
        let callee = call.callee.get_inner_expression();
        let Expression::StaticMemberExpression(member) = callee else {
            self.bind_parameter_of(below, callee, place, part);
            return None;
        };
        let Expression::Identifier(object) = &member.object else {
            return None;
        };
        if self.tree.symbol(object).is_some() {
            self.put(call, place, part.in_list());
            return None;
        }
        if place > 0 {
            return None;
        }
        match (object.name.as_str(), member.property.name.as_str()) {
            ("Object", "values") => part.into_form(PartForm::Values),
            ("Object", "entries") => part.into_form(PartForm::Entries),
            ("Object" | "Map", "groupBy") => {
                if let Some(item) = part.item(None) {
                    self.bind_parameter(call.node_id(), call.arguments.get(1), 0, item);
                }
                None
            }
            ("JSON", "stringify") => part.into_form(PartForm::Json),
            ("JSON", "parse") => part.parsed(),
            ("Object", "hasOwn") => {
                let name = call.arguments.get(1).and_then(Argument::as_expression)?;
                self.asked(name, part);
                None
            }
            ("Object", "keys") | ("Array", "isArray") => {
                self.asked_itself(below, &part);
                None
            }
            ("Array", "from") if call.arguments.len() == 1 => Some(part),
            _ => None,
        }
    }

    /// Notes that the program asks whether a part has a member.
    pub(super) fn asked(&mut self, name: &Expression<'a>, part: ResultPart) {
        if part.is_itself()
            && let Some(text) = self.tree.text(name)
        {
            self.note_asked(name.span().start, &part.named(text));
        }
    }

    /// Follows a parameter of a function that a method calls at `at`.
    pub(super) fn bind_parameter(
        &mut self,
        at: NodeId,
        function: Option<&Argument<'a>>,
        place: usize,
        part: ResultPart,
    ) {
        if let Some(function) = function.and_then(Argument::as_expression) {
            self.bind_parameter_of(at, function, place, part);
        }
    }

    /// Follows a parameter of a function that is written down here, or under a name, and is called at `at`.
    fn bind_parameter_of(
        &mut self,
        at: NodeId,
        function: &Expression<'a>,
        place: usize,
        part: ResultPart,
    ) {
        let Some((parameters, is_shared)) = self.parameters(function) else {
            return;
        };
        let Some(parameter) = parameters.items.get(place) else {
            return;
        };
        let certain = self.is_certain(at);
        self.entered.enter(parameters.span, certain);
        let is_shared = is_shared || parameter.initializer.is_some();
        let part = if is_shared { part.shared() } else { part };
        self.bind(&parameter.pattern, &part);
    }

    /// The parameters of a function, and whether they may have values from other places.
    fn parameters<'e>(
        &self,
        function: &'e Expression<'a>,
    ) -> Option<(&'e FormalParameters<'a>, bool)> {
        match function.get_inner_expression() {
            Expression::ArrowFunctionExpression(function) => Some((&*function.params, false)),
            // By its name it may call itself with other values.
            Expression::FunctionExpression(function) => {
                Some((&*function.params, function.id.is_some()))
            }
            Expression::Identifier(name) => {
                let symbol = self.tree.symbol(name)?;
                let references = self.tree.scoping.get_resolved_reference_ids(symbol);
                Some((self.tree.parameters(symbol)?, references.len() > 1))
            }
            _ => None,
        }
    }
}
