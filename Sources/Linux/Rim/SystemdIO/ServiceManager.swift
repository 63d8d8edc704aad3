internal import CLinux
internal import CSystemd
internal import Glibc
internal import LinuxIO

/// The protocol of sd_notify(3). Has no effect if no service manager listens.
package enum ServiceManager {
  package static func ready(status: String) { sd_notify(0, "READY=1\nSTATUS=\(status)") }
  package static func status(_ text: String) { sd_notify(0, "STATUS=\(text)") }
  package static func reloading() {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    sd_notify(0, "RELOADING=1\nMONOTONIC_USEC=\(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)")
  }
  package static func stopping() { sd_notify(0, "STOPPING=1") }
}
