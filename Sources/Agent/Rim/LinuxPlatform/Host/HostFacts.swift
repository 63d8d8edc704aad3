import AgentCore
internal import Glibc
package import KernelModel
internal import LinuxIO
import NetworkTypes
import RoamwardCore
internal import SystemdIO

extension LocalTime {
  /// The local time, by the clock and the time zone of this machine.
  static var now: LocalTime {
    // The time zone may have changed since.
    tzset()
    var time = time(nil)
    var parts = tm()
    localtime_r(&time, &parts)
    // tm_wday counts from Sunday.
    let day = Weekday(rawValue: parts.tm_wday == 0 ? 7 : Int(parts.tm_wday)) ?? .mon
    return LocalTime(day: day, second: Int(parts.tm_hour) * 3600 + Int(parts.tm_min) * 60 + min(59, Int(parts.tm_sec)))
  }
}

/// Whether the kernel drops packets on this link whose reply would leave by another one. The greater value of `all` and the link counts,
/// and 1 is strict (ip-sysctl, `rp_filter`).
func checksReversePathStrictly(_ link: String) -> Bool {
  let values = ["all", link].map { name -> UInt8 in
    let bytes = (try? TextFile.read("/proc/sys/net/ipv4/conf/\(name)/rp_filter", limit: 16)) ?? []
    return bytes.first ?? UInt8(ascii: "0")
  }
  return values.max() == UInt8(ascii: "1")
}

/// Whether new links get no IPv6: it is switched off, or this kernel has none.
var isIPv6Off: Bool {
  let bytes = try? TextFile.read("/proc/sys/net/ipv6/conf/default/disable_ipv6", limit: 16)
  return bytes.map { $0.first != UInt8(ascii: "0") } ?? true
}

/// The power source, from `/sys/class/power_supply`: mains that is online, else a battery that discharges, else mains.
func powerSource(root: String = "/sys/class/power_supply") -> Fact<PowerSource> {
  func text(_ supply: String, _ attribute: String) -> String {
    let bytes = (try? TextFile.read("\(root)/\(supply)/\(attribute)", limit: 4096)) ?? []
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
  // A peripheral's own battery (scope Device: a mouse, a headset) does not power the machine.
  let supplies = Folder.names(in: root).filter { text($0, "scope") != "Device" }
  let isOnMains = supplies.contains { ["Mains", "USB"].contains(text($0, "type")) && text($0, "online") == "1" }
  let isDischarging = supplies.contains { text($0, "type") == "Battery" && text($0, "status") == "Discharging" }
  return .known(!isOnMains && isDischarging ? .battery : .ac)
}

/// The users who are logged in. Names that no policy can have are left out.
func presentUsers() -> Fact<[UserName]> {
  guard let names = loggedInUsers() else { return .unknown(reason: "there is no systemd-logind (\(sessionsFolder))") }
  return .known(names.compactMap { UserName($0) }.sorted())
}

/// The control group of this name, if it has a process in it.
package func populatedControlGroup(_ name: String) -> ControlGroup? {
  guard let mount = controlGroupMount, let group = ControlGroup(name, mount: mount), isControlGroupPopulated(group.path) else { return nil }
  return group
}
