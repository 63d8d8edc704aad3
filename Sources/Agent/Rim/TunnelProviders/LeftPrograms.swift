internal import Glibc
internal import LinuxIO
internal import SystemdIO

/// The identity of a process over its life: the number alone is given again.
package struct ProgramIdentity: Hashable, Sendable {
  package var process: Int32
  /// In clock ticks since the boot: field 22 of /proc/PID/stat, proc(5).
  package var started: UInt64

  package init(process: Int32, started: UInt64) {
    self.process = process
    self.started = started
  }

  /// `nil`: there is no such process.
  init?(_ process: Int32) {
    guard let bytes = try? TextFile.read("/proc/\(process)/stat", limit: 4096), let end = bytes.lastIndex(of: UInt8(ascii: ")")) else {
      return nil
    }
    // The name before it may contain anything. Field 3 follows.
    let fields = String(decoding: bytes[(end + 1)...], as: UTF8.self).split(separator: " ")
    guard fields.count > 19, let started = UInt64(fields[19]) else { return nil }
    self.init(process: process, started: started)
  }

  /// The name of its channel at the service manager.
  var channelName: String { "provider-\(process)" }
}
