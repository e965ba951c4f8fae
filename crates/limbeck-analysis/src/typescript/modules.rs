//! Conversion of modules to scripts: imports become constants, exports become plain declarations.

use limbeck_domain::ProgramError;
use oxc::allocator::{Allocator, ArenaVec, TakeIn};
use oxc::ast::ast::{
    BindingIdentifier, BindingPattern, ExportDefaultDeclaration, ExportDefaultDeclarationKind,
    ExportNamedDeclaration, Expression, ImportDeclaration, ImportDeclarationSpecifier,
    ObjectPattern, Program, Statement, StringLiteral, VariableDeclarationKind, VariableDeclarator,
};
use oxc::ast::builder::AstBuilder;
use oxc::span::{GetSpan, Span};
use oxc::syntax::module_record::ModuleRecord;

use super::imports::{Binding, ImportedModule, is_global, resolve};
use super::positions::TextOrigin;
use super::{DEFAULT_NAME, diagnostics};

const IMPORT_HINT: &str = "call tools as `tools.SERVER.TOOL(args)`; all that can be imported is \
    `limbeck`, `./mcp-wrappers` and `./servers/NAME`";

/// What a module was beside its statements.
#[derive(Debug, Default)]
pub(super) struct ModuleParts {
    /// Declarations of the imported names, on one line.
    pub(super) imports: String,
    /// Name of what was exported as default.
    pub(super) default: Option<String>,
    /// Whether that is a function whose parameter takes globals apart, as in `({ tools }) => …`.
    pub(super) takes_globals: bool,
}

/// Refuses what only a module loader could do.
pub(super) fn check_record(
    record: &ModuleRecord<'_>,
    text: &str,
    origin: TextOrigin,
) -> Result<(), ProgramError> {
    if let Some(import) = record.dynamic_imports.first() {
        let message = "modules cannot be loaded at run time".to_owned();
        return Err(at(message, import.span, text, origin));
    }
    if let Some(span) = record.import_metas.first() {
        return Err(at(
            "`import.meta` does not exist here".to_owned(),
            *span,
            text,
            origin,
        ));
    }
    Ok(())
}

/// Removes imports and exports from a program whose types are erased: by then, imports of types
/// alone are gone, for any module.
pub(super) fn flatten<'a>(
    program: &mut Program<'a>,
    allocator: &'a Allocator,
    text: &str,
    origin: TextOrigin,
) -> Result<ModuleParts, ProgramError> {
    let mut module = ModuleParts::default();
    if !program.body.iter().any(Statement::is_module_declaration) {
        return Ok(module);
    }
    let builder = AstBuilder::new(allocator);
    let body = program.body.take_in(&builder);
    program.body = ArenaVec::with_capacity_in(body.len(), &builder);
    for statement in body {
        match statement {
            Statement::ImportDeclaration(import) => {
                declare(&import, &mut module.imports, text, origin)?;
            }
            Statement::ExportDeclaration(export) => {
                program
                    .body
                    .push(Statement::from(export.unbox().declaration));
            }
            Statement::ExportDefaultDeclaration(export) => {
                let export = export.unbox();
                module.takes_globals = globals_taken(&export).is_some();
                let (statement, name) = name_default(export, &builder);
                program.body.push(statement);
                module.default = Some(name);
            }
            Statement::ExportNamedDeclaration(export) => {
                module.default = default_of(&export).or(module.default);
            }
            Statement::ExportFromDeclaration(export) => {
                known(&export.source, text, origin)?;
            }
            Statement::ExportAllDeclaration(export) => {
                known(&export.source, text, origin)?;
            }
            other => program.body.push(other),
        }
    }
    Ok(module)
}

/// The pattern by which a default export takes globals from its parameter.
pub(super) fn globals_taken<'e, 'a>(
    export: &'e ExportDefaultDeclaration<'a>,
) -> Option<&'e ObjectPattern<'a>> {
    let parameters = match &export.declaration {
        ExportDefaultDeclarationKind::FunctionDeclaration(function) => &function.params,
        ExportDefaultDeclarationKind::FunctionExpression(function) => &function.params,
        ExportDefaultDeclarationKind::ArrowFunctionExpression(function) => &function.params,
        _ => return None,
    };
    let BindingPattern::ObjectPattern(object) = &parameters.items.first()?.pattern else {
        return None;
    };
    let mut names = object.properties.iter();
    let takes = names.any(|property| {
        let name = property.key.static_name();
        name.is_some_and(|name| is_global(&ImportedModule::Globals, &name))
    });
    takes.then_some(&**object)
}

fn declare(
    import: &ImportDeclaration<'_>,
    out: &mut String,
    text: &str,
    origin: TextOrigin,
) -> Result<(), ProgramError> {
    let imported = known(&import.source, text, origin)?;
    for specifier in import.specifiers.iter().flatten() {
        match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(named) => {
                let name = named.imported.name();
                let binding = match name.as_str() {
                    "default" => Binding::Default,
                    name => Binding::Named(name),
                };
                imported.declare(named.local.name.as_str(), &binding, out);
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => {
                imported.declare(default.local.name.as_str(), &Binding::Default, out);
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => {
                imported.declare(all.local.name.as_str(), &Binding::Namespace, out);
            }
        }
    }
    Ok(())
}

fn known<'a>(
    source: &'a StringLiteral<'_>,
    text: &str,
    origin: TextOrigin,
) -> Result<ImportedModule<'a>, ProgramError> {
    let name = source.value.as_str();
    resolve(name).ok_or_else(|| {
        at(
            format!("module `{name}` does not exist here"),
            source.span,
            text,
            origin,
        )
    })
}

fn at(message: String, span: Span, text: &str, origin: TextOrigin) -> ProgramError {
    diagnostics::error(
        message,
        Some(IMPORT_HINT),
        text,
        span.start as usize,
        origin,
    )
}

/// Makes a declaration of a default export, and returns its name.
fn name_default<'a>(
    export: ExportDefaultDeclaration<'a>,
    builder: &AstBuilder<'a>,
) -> (Statement<'a>, String) {
    let span = export.span;
    let mut name = DEFAULT_NAME.to_owned();
    let mut named = |id: Option<BindingIdentifier<'a>>| match id {
        Some(id) => {
            name = id.name.to_string();
            Some(id)
        }
        None => Some(BindingIdentifier::new(span, DEFAULT_NAME, builder)),
    };
    let statement = match export.declaration {
        ExportDefaultDeclarationKind::FunctionDeclaration(mut function) => {
            function.id = named(function.id.take());
            Statement::FunctionDeclaration(function)
        }
        ExportDefaultDeclarationKind::ClassDeclaration(mut class) => {
            class.id = named(class.id.take());
            Statement::ClassDeclaration(class)
        }
        ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {
            return (
                Statement::new_empty_statement(span, builder),
                "undefined".to_owned(),
            );
        }
        expression => constant(expression.into_expression(), builder),
    };
    (statement, name)
}

fn constant<'a>(value: Expression<'a>, builder: &AstBuilder<'a>) -> Statement<'a> {
    let span = value.span();
    let name = BindingPattern::new_binding_identifier(span, DEFAULT_NAME, builder);
    let declarator = VariableDeclarator::new(span, name, None, Some(value), false, builder);
    let declarators = ArenaVec::from_value_in(declarator, builder);
    let kind = VariableDeclarationKind::Const;
    Statement::new_variable_declaration(span, kind, declarators, false, builder)
}

/// `export { main as default }`.
fn default_of(export: &ExportNamedDeclaration<'_>) -> Option<String> {
    export
        .specifiers
        .iter()
        .find(|specifier| specifier.exported.name() == "default")
        .map(|specifier| specifier.local.name().to_string())
}
