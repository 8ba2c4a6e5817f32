//! The IP and CIDR libraries.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Implementation;
use crate::error::{Result, failure, no_such_overload};
use crate::value::Value;

/// A CIDR: an address and a prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    pub(crate) bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "ip" => |arguments| match arguments {
            [Value::String(text)] => parse_ip(text).map(Value::Ip),
            [Value::Cidr(cidr)] => Ok(Value::Ip(cidr.address)),
            _ => no_such_overload(),
        },
        "isIP" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(parse_ip(text).is_ok())),
            _ => no_such_overload(),
        },
        "ip.isCanonical" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(parse_ip(text)?.to_string() == **text)),
            _ => no_such_overload(),
        },
        "family" => |arguments| match arguments {
            [Value::Ip(address)] => Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
            _ => no_such_overload(),
        },
        "isUnspecified" => |arguments| property(arguments, IpAddr::is_unspecified),
        "isLoopback" => |arguments| property(arguments, IpAddr::is_loopback),
        "isLinkLocalMulticast" => |arguments| property(arguments, is_link_local_multicast),
        "isLinkLocalUnicast" => |arguments| property(arguments, is_link_local_unicast),
        "isGlobalUnicast" => |arguments| property(arguments, is_global_unicast),
        "cidr" => |arguments| match arguments {
            [Value::String(text)] => cidr(text).map(Value::Cidr),
            _ => no_such_overload(),
        },
        "isCIDR" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(parse_cidr(text).is_ok())),
            _ => no_such_overload(),
        },
        "containsIP" => |arguments| match arguments {
            [Value::Cidr(cidr), Value::Ip(address)] => Ok(Value::Bool(holds(*cidr, *address, cidr.bits))),
            [Value::Cidr(cidr), Value::String(text)] => {
                Ok(Value::Bool(holds(*cidr, parse_ip(text)?, cidr.bits)))
            }
            _ => no_such_overload(),
        },
        "containsCIDR" => |arguments| match arguments {
            [Value::Cidr(outer), Value::Cidr(inner)] => Ok(Value::Bool(holds_network(*outer, *inner))),
            [Value::Cidr(outer), Value::String(text)] => Ok(Value::Bool(holds_network(*outer, cidr(text)?))),
            _ => no_such_overload(),
        },
        "prefixLength" => |arguments| match arguments {
            [Value::Cidr(cidr)] => Ok(Value::Int(i64::from(cidr.bits))),
            _ => no_such_overload(),
        },
        "masked" => |arguments| match arguments {
            [Value::Cidr(cidr)] => Ok(Value::Cidr(Cidr {
                address: masked(cidr.address, cidr.bits),
                bits: cidr.bits,
            })),
            _ => no_such_overload(),
        },
        _ => return None,
    };
    Some(found)
}

fn property<'a>(arguments: &[Value<'a>], holds: fn(&IpAddr) -> bool) -> Result<Value<'a>> {
    match arguments {
        [Value::Ip(address)] => Ok(Value::Bool(holds(address))),
        _ => no_such_overload(),
    }
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.octets()[0] == 0xff && address.octets()[1] & 0x0f == 2,
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    *address != IpAddr::V4(Ipv4Addr::BROADCAST)
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}

fn parse_ip(text: &str) -> Result<IpAddr> {
    if let Some((address, zone)) = text.split_once('%')
        && address.parse::<Ipv6Addr>().is_ok()
        && !zone.is_empty()
    {
        return failure(format!("IP address {text:?} with zone value is not allowed"));
    }
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            failure(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        Ok(address) => Ok(address),
        Err(_) => failure(format!(
            "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): {}",
            cause(text)
        )),
    }
}

/// The reason of Go's parse error for an IPv4 address.
fn cause(text: &str) -> String {
    if text.find('.').is_none_or(|dot| text[..dot].contains([':', '%'])) {
        return "unable to parse IP".to_owned();
    }
    let (mut value, mut digits, mut fields) = (0, 0, 0);
    for (index, character) in text.char_indices() {
        let rest = &text[index..];
        match character {
            '0'..='9' => {
                if digits == 1 && value == 0 {
                    return "IPv4 field has octet with leading zero".to_owned();
                }
                value = value * 10 + (character as u32 - '0' as u32);
                digits += 1;
                if value > 255 {
                    return "IPv4 field has value >255".to_owned();
                }
            }
            '.' if digits == 0 || rest.len() == 1 => {
                return format!("IPv4 field must have at least one digit (at {rest:?})");
            }
            '.' if fields == 3 => return "IPv4 address too long".to_owned(),
            '.' => {
                fields += 1;
                (value, digits) = (0, 0);
            }
            _ => return format!("unexpected character (at {rest:?})"),
        }
    }
    "IPv4 address too short".to_owned()
}

fn cidr(text: &str) -> Result<Cidr> {
    match parse_cidr(text) {
        Ok(cidr) => Ok(cidr),
        Err(cause) => failure(format!(
            "network address parse error during conversion from string: {cause}"
        )),
    }
}

fn parse_cidr(text: &str) -> std::result::Result<Cidr, String> {
    let problem = |cause: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({text:?}): {cause}"
        )
    };
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| problem("no '/'"))?;
    let parsed: IpAddr = address
        .parse()
        .map_err(|_| problem(&format!("ParseAddr({address:?}): {}", cause(address))))?;
    let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || (bits.len() > 1 && bits.starts_with('0')) {
        return Err(problem(&format!("bad bits after slash: {bits:?}")));
    }
    let most = if parsed.is_ipv4() { 32 } else { 128 };
    let length = bits
        .parse::<u8>()
        .ok()
        .filter(|bits| *bits <= most)
        .ok_or_else(|| problem("prefix length out of range"))?;
    if let IpAddr::V6(address) = parsed
        && address.to_ipv4_mapped().is_some()
    {
        return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(Cidr {
        address: parsed,
        bits: length,
    })
}

fn holds(cidr: Cidr, address: IpAddr, bits: u8) -> bool {
    cidr.address.is_ipv4() == address.is_ipv4() && masked(cidr.address, bits) == masked(address, bits)
}

fn holds_network(outer: Cidr, inner: Cidr) -> bool {
    outer.bits <= inner.bits && holds(outer, inner.address, outer.bits)
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
        }
    }
}
