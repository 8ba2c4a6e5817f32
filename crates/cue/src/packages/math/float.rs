//! Functions on floats of the machine, computed in software so that every machine finds the same digits.

/// A function of one float.
pub type Unary = fn(f64) -> f64;

/// A function of two floats.
pub type Binary = fn(f64, f64) -> f64;

/// The functions of one float, by their names.
pub const UNARY: [(&str, Unary); 25] = [
    ("Acos", libm::acos),
    ("Acosh", libm::acosh),
    ("Asin", libm::asin),
    ("Asinh", libm::asinh),
    ("Atan", libm::atan),
    ("Atanh", libm::atanh),
    ("Cos", libm::cos),
    ("Cosh", libm::cosh),
    ("Erf", libm::erf),
    ("Erfc", libm::erfc),
    ("Erfcinv", erfcinv),
    ("Erfinv", erfinv),
    ("Expm1", libm::expm1),
    ("Gamma", libm::tgamma),
    ("J0", libm::j0),
    ("J1", libm::j1),
    ("Log1p", libm::log1p),
    ("Logb", logb),
    ("Sin", libm::sin),
    ("Sinh", libm::sinh),
    ("Sqrt", libm::sqrt),
    ("Tan", libm::tan),
    ("Tanh", libm::tanh),
    ("Y0", libm::y0),
    ("Y1", libm::y1),
];

/// The functions of two floats, by their names.
pub const BINARY: [(&str, Binary); 4] = [
    ("Atan2", libm::atan2),
    ("Hypot", hypot),
    ("Mod", libm::fmod),
    ("Remainder", libm::remainder),
];

/// The length of the hypotenuse, without overflow in between.
pub fn hypot(x: f64, y: f64) -> f64 {
    let (long, short) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    if long == 0.0 || long.is_infinite() {
        return long;
    }
    let ratio = short / long;
    long * libm::sqrt(1.0 + ratio * ratio)
}

/// `fraction * 2^exponent`.
pub fn ldexp(fraction: f64, exponent: i64) -> f64 {
    libm::scalbn(
        fraction,
        i32::try_from(exponent.clamp(-10_000, 10_000)).unwrap_or(0),
    )
}

/// The Bessel function of the first kind of an order.
pub fn jn(order: i64, x: f64) -> f64 {
    libm::jn(order_of(order), x)
}

/// The Bessel function of the second kind of an order.
pub fn yn(order: i64, x: f64) -> f64 {
    libm::yn(order_of(order), x)
}

/// The binary exponent as an integer.
pub fn ilogb(x: f64) -> i64 {
    match x {
        _ if x == 0.0 => i64::from(i32::MIN),
        _ if x.is_finite() => i64::from(libm::ilogb(x)),
        _ => i64::from(i32::MAX),
    }
}

/// The binary exponent.
pub fn logb(x: f64) -> f64 {
    match x {
        _ if x == 0.0 => f64::NEG_INFINITY,
        _ if x.is_finite() => f64::from(libm::ilogb(x)),
        _ => x.abs(),
    }
}

/// The number whose error function is `y`.
pub fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y.abs() == 1.0 {
        return y * f64::INFINITY;
    }
    // A first guess (Winitzki), then Newton's method until it stands still.
    let logarithm = libm::log1p(-y * y);
    let term = 2.0 / (std::f64::consts::PI * 0.147) + logarithm / 2.0;
    let mut x = libm::copysign(libm::sqrt(libm::sqrt(term * term - logarithm / 0.147) - term), y);
    for _ in 0..8 {
        // Close to one, the complement keeps the digits that matter.
        let error = match y.abs() < 0.5 {
            true => libm::erf(x) - y,
            false => y.signum() * (1.0 - y.abs() - libm::erfc(x.abs())),
        };
        let slope = std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-x * x);
        if slope == 0.0 {
            break;
        }
        x -= error / slope;
    }
    x
}

/// The number whose complementary error function is `y`.
pub fn erfcinv(y: f64) -> f64 {
    erfinv(1.0 - y)
}

fn order_of(order: i64) -> i32 {
    i32::try_from(order).unwrap_or(if order < 0 { i32::MIN + 1 } else { i32::MAX })
}
