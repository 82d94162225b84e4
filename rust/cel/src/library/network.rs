//! IP addresses and ranges of them.
use super::strings::bad;
use super::Found;
use crate::error::Fault;
use crate::functions::Func;
use crate::val::Val;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range: an address and how many of its first bits count. The other bits are kept as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The address.
    pub address: IpAddr,
    /// How many bits count, at most 32 or 128.
    pub bits: u8,
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Cidr {
    fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.bits.into())).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.bits.into())).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self { address, bits: self.bits }
    }

    fn contains(self, address: IpAddr) -> bool {
        // addresses of the two families never share a range
        self.address.is_ipv4() == address.is_ipv4() && Self { address, bits: self.bits }.masked() == self.masked()
    }

    fn contains_range(self, other: Self) -> bool {
        other.bits >= self.bits && self.contains(other.address)
    }
}

/// The address as it is written; dotted IPv4 inside IPv6 is refused, as it has many spellings.
fn written(text: &str) -> Option<IpAddr> {
    let mixed = text.contains(':') && text.contains('.');
    text.parse().ok().filter(|_| !mixed)
}

/// The address; IPv4 inside IPv6 is the IPv4 address.
fn address(text: &str) -> Option<IpAddr> {
    written(text).map(|address| address.to_canonical())
}

fn range(text: &str) -> Option<Cidr> {
    let (head, tail) = text.split_once('/')?;
    let address = written(head)?;
    let plain =
        !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit()) && (tail == "0" || !tail.starts_with('0'));
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = tail.parse().ok().filter(|bits| plain && *bits <= most)?;
    Some(Cidr { address, bits })
}

#[cold]
fn no_address(text: &str) -> Fault {
    bad(format!("`{text:.50}` is no IP address"))
}

#[cold]
fn no_range(text: &str) -> Fault {
    bad(format!("`{text:.50}` is no range of IP addresses"))
}

/// Whether an address or range can be read, for the checker.
pub(crate) fn is_address(text: &str) -> bool {
    address(text).is_some()
}

/// The same for a range.
pub(crate) fn is_range(text: &str) -> bool {
    range(text).is_some()
}

pub(super) fn call<'a>(func: Func, args: &[Val<'a>]) -> Found<'a> {
    let found = match (func, args) {
        (Func::ToIp, [Val::Str(text)]) => Val::Ip(address(text).ok_or_else(|| no_address(text))?),
        (Func::ToIp, [Val::Cidr(cidr)]) => Val::Ip(cidr.address),
        (Func::ToCidr, [Val::Str(text)]) => Val::Cidr(range(text).ok_or_else(|| no_range(text))?),
        (Func::IsIp, [Val::Str(text)]) => Val::Bool(address(text).is_some()),
        (Func::IsCidr, [Val::Str(text)]) => Val::Bool(range(text).is_some()),
        (Func::IsCanonical, [Val::Str(text)]) => {
            let address = written(text).ok_or_else(|| no_address(text))?;
            Val::Bool(address.to_string() == **text)
        }
        (Func::Family, [Val::Ip(address)]) => Val::Int(if address.is_ipv4() { 4 } else { 6 }),
        (Func::IsUnspecified, [Val::Ip(address)]) => Val::Bool(address.is_unspecified()),
        (Func::IsLoopback, [Val::Ip(address)]) => Val::Bool(address.is_loopback()),
        (Func::IsGlobalUnicast, [Val::Ip(address)]) => {
            let broadcast = *address == IpAddr::V4(Ipv4Addr::BROADCAST);
            let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
            Val::Bool(!broadcast && !special && !link_local(*address))
        }
        (Func::IsLinkLocalUnicast, [Val::Ip(address)]) => Val::Bool(link_local(*address)),
        (Func::IsLinkLocalMulticast, [Val::Ip(address)]) => Val::Bool(match address {
            IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
            IpAddr::V6(address) => matches!(address.octets(), [0xff, flags, ..] if flags & 0x0f == 2),
        }),
        (Func::ContainsIp, [Val::Cidr(cidr), Val::Ip(address)]) => Val::Bool(cidr.contains(*address)),
        (Func::ContainsIp, [Val::Cidr(cidr), Val::Str(text)]) => {
            Val::Bool(cidr.contains(address(text).ok_or_else(|| no_address(text))?))
        }
        (Func::ContainsCidr, [Val::Cidr(cidr), Val::Cidr(other)]) => Val::Bool(cidr.contains_range(*other)),
        (Func::ContainsCidr, [Val::Cidr(cidr), Val::Str(text)]) => {
            Val::Bool(cidr.contains_range(range(text).ok_or_else(|| no_range(text))?))
        }
        (Func::Masked, [Val::Cidr(cidr)]) => Val::Cidr(cidr.masked()),
        (Func::PrefixLength, [Val::Cidr(cidr)]) => Val::Int(cidr.bits.into()),
        _ => return Ok(None),
    };
    Ok(Some(found))
}

fn link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}
