internal import Glibc
internal import LinuxIO
internal import RoamwardCore

extension LocalTime {
  /// By the clock and the time zone of this machine.
  static var now: LocalTime {
    var time = time(nil)
    var parts = tm()
    localtime_r(&time, &parts)
    // tm_wday counts from Sunday.
    let day = Weekday(rawValue: parts.tm_wday == 0 ? 7 : Int(parts.tm_wday)) ?? .mon
    return LocalTime(day: day, second: Int(parts.tm_hour) * 3600 + Int(parts.tm_min) * 60 + min(59, Int(parts.tm_sec)))
  }
}

/// What the machine runs on, by `/sys/class/power_supply`: mains that is online, else a battery that discharges, else mains.
func powerSource(root: String = "/sys/class/power_supply") -> Fact<PowerSource> {
  func text(_ supply: String, _ attribute: String) -> String {
    let bytes = (try? TextFile.read("\(root)/\(supply)/\(attribute)", limit: 4096)) ?? []
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
  // A peripheral's own battery (scope Device: a mouse, a headset) is not what the machine runs on.
  let supplies = Folder.names(in: root).filter { text($0, "scope") != "Device" }
  let isOnMains = supplies.contains { ["Mains", "USB"].contains(text($0, "type")) && text($0, "online") == "1" }
  let isDischarging = supplies.contains { text($0, "type") == "Battery" && text($0, "status") == "Discharging" }
  return .known(!isOnMains && isDischarging ? .battery : .ac)
}
