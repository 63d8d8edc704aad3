internal import Glibc
internal import LinuxIO
internal import SystemdIO
package import TestSupport

/// A bus daemon of the test's own, in a temporary folder; ends with the value.
package final class PrivateBus {
  package static let isPossible = access("/usr/bin/dbus-daemon", X_OK) == 0

  package let folder: TemporaryFolder
  package var address: String { "unix:path=\(folder.path)/bus" }

  package init() throws {
    folder = try TemporaryFolder()
    let configuration = """
      <busconfig><type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth><policy context="default"><allow user="*"/><allow
      send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
      """
    try TextFile.create(folder.path + "/bus.conf", with: Array(configuration.utf8), mode: 0o600)
  }

  deinit { stop() }

  package func start() throws { try shell("dbus-daemon --config-file=\(folder.path)/bus.conf --fork --print-pid=1 > \(folder.path)/pid") }

  /// Returns when the daemon has gone; on its way it removes its socket.
  package func stop() {
    _ = try? shell(
      """
      cd \(folder.path); test -s pid || exit 0
      pid=$(cat pid); kill $pid; while grep -q '^State:.[^Z]' /proc/$pid/status; do sleep 0.01; done; rm -f pid bus
      """)
  }

  /// The daemon stands still, or goes on: whoever is connected, or connects, hears nothing.
  package func freeze(_ isFrozen: Bool) throws { try shell("kill -\(isFrozen ? "STOP" : "CONT") $(cat \(folder.path)/pid)") }
}
