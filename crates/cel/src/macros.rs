//! Macros: calls that are expanded while parsing.
//!
//! The expansions must be upstream's: the cost of an expression is the cost of its expansion.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators,
};
use cel::parser::{Macro, MacroExprHelper, ParseError};

/// The accumulator variable of a comprehension. Not a valid identifier.
pub(crate) const ACCUMULATOR: &str = "@result";

/// The unused iteration variable of `cel.bind`.
const UNUSED: &str = "#unused";

type Expansion = Result<Option<IdedExpr>, ParseError>;

/// All macros that Kubernetes has.
pub(crate) fn all() -> Vec<Macro> {
    let mut all = vec![
        Macro::global("has", 1, has),
        Macro::receiver("optMap", 2, |build, target, args| {
            optional_map(build, target, args, Wrap::Optional)
        }),
        Macro::receiver("optFlatMap", 2, |build, target, args| {
            optional_map(build, target, args, Wrap::Nothing)
        }),
        Macro::receiver("sortBy", 2, sort_by),
        Macro::receiver("filter", 2, filter),
    ];
    for (name, quantifier) in [
        ("all", Quantifier::All),
        ("exists", Quantifier::Exists),
        ("exists_one", Quantifier::ExistsOne),
    ] {
        all.push(Macro::receiver(name, 2, move |build, target, args| {
            quantify(build, target, args, quantifier, Variables::One)
        }));
    }
    for (name, quantifier) in [
        ("all", Quantifier::All),
        ("exists", Quantifier::Exists),
        ("exists_one", Quantifier::ExistsOne),
        ("existsOne", Quantifier::ExistsOne),
    ] {
        all.push(Macro::receiver(name, 3, move |build, target, args| {
            quantify(build, target, args, quantifier, Variables::Two)
        }));
    }
    for count in [2, 3] {
        all.push(Macro::receiver("map", count, |build, target, args| {
            transform(build, target, args, Transform::Map)
        }));
    }
    for (name, kind) in [
        ("transformList", Transform::List),
        ("transformMap", Transform::Values),
        ("transformMapEntry", Transform::Entries),
    ] {
        for count in [3, 4] {
            all.push(Macro::receiver(name, count, move |build, target, args| {
                transform(build, target, args, kind)
            }));
        }
    }
    all
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

#[derive(Clone, Copy, PartialEq)]
enum Variables {
    One,
    Two,
}

#[derive(Clone, Copy, PartialEq)]
enum Transform {
    Map,
    List,
    Values,
    Entries,
}

#[derive(Clone, Copy, PartialEq)]
enum Wrap {
    Optional,
    Nothing,
}

fn has(build: &mut MacroExprHelper<'_>, _: &mut Option<IdedExpr>, args: &mut Vec<IdedExpr>) -> Expansion {
    let Some(argument) = args.pop() else {
        return Ok(None);
    };
    match argument.expr {
        Expr::Select(select) => Ok(Some(
            build.next_expr(Expr::Select(SelectExpr { test: true, ..select })),
        )),
        _ => Err(build.new_error(argument.id, "invalid argument to has() macro")),
    }
}

fn quantify(
    build: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
    quantifier: Quantifier,
    variables: Variables,
) -> Expansion {
    let (Some(range), Some(predicate)) = (target.take(), args.pop()) else {
        return Ok(None);
    };
    let (first, second) = names(build, args, variables, "argument must be a simple name")?;
    let (init, condition, step, result);
    match quantifier {
        Quantifier::All => {
            init = literal(build, LiteralValue::Boolean(true.into()));
            let accumulator = accumulator(build);
            condition = call(build, operators::NOT_STRICTLY_FALSE, vec![accumulator]);
            let accumulator = self::accumulator(build);
            step = call(build, operators::LOGICAL_AND, vec![accumulator, predicate]);
            result = self::accumulator(build);
        }
        Quantifier::Exists => {
            init = literal(build, LiteralValue::Boolean(false.into()));
            let accumulator = accumulator(build);
            let not = call(build, operators::LOGICAL_NOT, vec![accumulator]);
            condition = call(build, operators::NOT_STRICTLY_FALSE, vec![not]);
            let accumulator = self::accumulator(build);
            step = call(build, operators::LOGICAL_OR, vec![accumulator, predicate]);
            result = self::accumulator(build);
        }
        Quantifier::ExistsOne => {
            init = literal(build, LiteralValue::Int(0.into()));
            condition = literal(build, LiteralValue::Boolean(true.into()));
            let (accumulator, one) = (accumulator(build), literal(build, LiteralValue::Int(1.into())));
            let more = call(build, operators::ADD, vec![accumulator, one]);
            let same = self::accumulator(build);
            step = call(build, operators::CONDITIONAL, vec![predicate, more, same]);
            let (accumulator, one) = (
                self::accumulator(build),
                literal(build, LiteralValue::Int(1.into())),
            );
            result = call(build, operators::EQUALS, vec![accumulator, one]);
        }
    }
    Ok(Some(build.next_expr(Expr::Comprehension(Box::new(
        ComprehensionExpr {
            iter_range: range,
            iter_var: first,
            iter_var2: second,
            accu_var: ACCUMULATOR.to_owned(),
            accu_init: init,
            loop_cond: condition,
            loop_step: step,
            result,
        },
    )))))
}

fn filter(
    build: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
) -> Expansion {
    let (Some(range), Some(predicate)) = (target.take(), args.pop()) else {
        return Ok(None);
    };
    let variable = args.first().cloned().unwrap_or_default();
    let (name, _) = names(build, args, Variables::One, "argument is not an identifier")?;
    let init = build.next_expr(Expr::List(ListExpr::new(Vec::new())));
    let condition = literal(build, LiteralValue::Boolean(true.into()));
    let accumulator = accumulator(build);
    let one = build.next_expr(Expr::List(ListExpr::new(vec![variable])));
    let more = call(build, operators::ADD, vec![accumulator, one]);
    let same = self::accumulator(build);
    let step = call(build, operators::CONDITIONAL, vec![predicate, more, same]);
    let result = self::accumulator(build);
    Ok(Some(comprehension(
        build,
        range,
        name,
        (ACCUMULATOR, init),
        condition,
        step,
        result,
    )))
}

fn transform(
    build: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
    kind: Transform,
) -> Expansion {
    let (Some(range), Some(body)) = (target.take(), args.pop()) else {
        return Ok(None);
    };
    let (variables, wanted) = match kind {
        Transform::Map => (Variables::One, "argument is not an identifier"),
        _ => (Variables::Two, "argument must be a simple name"),
    };
    let filter = match args.len() > usize::from(variables == Variables::Two) + 1 {
        true => args.pop(),
        false => None,
    };
    let (first, second) = names(build, args, variables, wanted)?;
    let init = match kind {
        Transform::Map | Transform::List => Expr::List(ListExpr::new(Vec::new())),
        Transform::Values | Transform::Entries => Expr::Map(MapExpr::default()),
    };
    let init = build.next_expr(init);
    let condition = literal(build, LiteralValue::Boolean(true.into()));
    let accumulator = accumulator(build);
    let mut step = match kind {
        Transform::Map | Transform::List => {
            let one = build.next_expr(Expr::List(ListExpr::new(vec![body])));
            call(build, operators::ADD, vec![accumulator, one])
        }
        Transform::Values => {
            let key = build.next_expr(Expr::Ident(first.clone()));
            call(build, "cel.@mapInsert", vec![accumulator, key, body])
        }
        Transform::Entries => call(build, "cel.@mapInsert", vec![accumulator, body]),
    };
    if let Some(filter) = filter {
        let same = self::accumulator(build);
        step = call(build, operators::CONDITIONAL, vec![filter, step, same]);
    }
    let result = self::accumulator(build);
    Ok(Some(build.next_expr(Expr::Comprehension(Box::new(
        ComprehensionExpr {
            iter_range: range,
            iter_var: first,
            iter_var2: second,
            accu_var: ACCUMULATOR.to_owned(),
            accu_init: init,
            loop_cond: condition,
            loop_step: step,
            result,
        },
    )))))
}

fn optional_map(
    build: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
    wrap: Wrap,
) -> Expansion {
    let (Some(optional), Some(body), Some(variable)) = (target.take(), args.pop(), args.pop()) else {
        return Ok(None);
    };
    let Expr::Ident(name) = variable.expr else {
        let function = if wrap == Wrap::Optional {
            "optMap"
        } else {
            "optFlatMap"
        };
        let message = format!("{function}() variable name must be a simple identifier");
        return Err(build.new_error(variable.id, message));
    };
    // Both mentions of the target are the same expression, so they share its ids.
    let has_value = member(build, "hasValue", optional.clone(), Vec::new());
    let value = member(build, "value", optional, Vec::new());
    let mut present = bind(build, name, value, body);
    if wrap == Wrap::Optional {
        present = call(build, "optional.of", vec![present]);
    }
    let absent = call(build, "optional.none", Vec::new());
    Ok(Some(call(
        build,
        operators::CONDITIONAL,
        vec![has_value, present, absent],
    )))
}

fn sort_by(
    build: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
) -> Expansion {
    const INPUT: &str = "@__sortBy_input__";
    let Some(list) = target.take() else {
        return Ok(None);
    };
    if !matches!(
        list.expr,
        Expr::List(_) | Expr::Select(_) | Expr::Ident(_) | Expr::Comprehension(_) | Expr::Call(_)
    ) {
        let message =
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err(build.new_error(list.id, message));
    }
    let mut input = Some(build.next_expr(Expr::Ident(INPUT.to_owned())));
    let Some(keys) = transform(build, &mut input, args, Transform::Map)? else {
        return Ok(None);
    };
    let input = build.next_expr(Expr::Ident(INPUT.to_owned()));
    let sorted = member(build, "@sortByAssociatedKeys", input, vec![keys]);
    Ok(Some(bind(build, INPUT.to_owned(), list, sorted)))
}

/// `cel.bind`: a comprehension over an empty list that binds `value` to a name in `body`.
fn bind(build: &mut MacroExprHelper<'_>, name: String, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    let range = build.next_expr(Expr::List(ListExpr::new(Vec::new())));
    let condition = literal(build, LiteralValue::Boolean(false.into()));
    let step = build.next_expr(Expr::Ident(name.clone()));
    comprehension(
        build,
        range,
        UNUSED.to_owned(),
        (&name, value),
        condition,
        step,
        body,
    )
}

fn comprehension(
    build: &mut MacroExprHelper<'_>,
    range: IdedExpr,
    variable: String,
    (accumulator, init): (&str, IdedExpr),
    condition: IdedExpr,
    step: IdedExpr,
    result: IdedExpr,
) -> IdedExpr {
    build.next_expr(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: range,
        iter_var: variable,
        iter_var2: None,
        accu_var: accumulator.to_owned(),
        accu_init: init,
        loop_cond: condition,
        loop_step: step,
        result,
    })))
}

fn names(
    build: &MacroExprHelper<'_>,
    args: &[IdedExpr],
    variables: Variables,
    wanted: &str,
) -> Result<(String, Option<String>), ParseError> {
    let name = |argument: Option<&IdedExpr>| match argument.map(|argument| (&argument.expr, argument.id)) {
        Some((Expr::Ident(name), id)) => Ok((name.clone(), id)),
        Some((_, id)) => Err(build.new_error(id, wanted)),
        None => Err(build.new_error(0, wanted)),
    };
    let taken = |name: &str| name == ACCUMULATOR || name == "__result__";
    let overwrites = |id| build.new_error(id, "iteration variable overwrites accumulator variable");
    let (first, first_id) = name(args.first())?;
    if variables == Variables::One {
        return match taken(&first) {
            true => Err(overwrites(first_id)),
            false => Ok((first, None)),
        };
    }
    let (second, second_id) = name(args.get(1))?;
    if first == second {
        return Err(build.new_error(second_id, format!("duplicate variable name: {first}")));
    }
    for (name, id) in [(&first, first_id), (&second, second_id)] {
        if taken(name) {
            return Err(overwrites(id));
        }
    }
    Ok((first, Some(second)))
}

fn accumulator(build: &mut MacroExprHelper<'_>) -> IdedExpr {
    build.next_expr(Expr::Ident(ACCUMULATOR.to_owned()))
}

fn literal(build: &mut MacroExprHelper<'_>, value: LiteralValue) -> IdedExpr {
    build.next_expr(Expr::Literal(value))
}

fn call(build: &mut MacroExprHelper<'_>, function: &str, args: Vec<IdedExpr>) -> IdedExpr {
    build.next_expr(Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args,
    }))
}

fn member(
    build: &mut MacroExprHelper<'_>,
    function: &str,
    target: IdedExpr,
    args: Vec<IdedExpr>,
) -> IdedExpr {
    build.next_expr(Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: Some(Box::new(target)),
        args,
    }))
}

/// The parts of a map literal's entry.
pub(crate) fn entry(entry: &EntryExpr) -> Option<(&IdedExpr, &IdedExpr, bool)> {
    match entry {
        EntryExpr::MapEntry(entry) => Some((&entry.key, &entry.value, entry.optional)),
        EntryExpr::StructField(_) => None,
    }
}
