import CLinux
import Glibc
import LinuxIO
import Testing

@Suite("The service manager", .needsLab)
struct ServiceManagerTests {
  @Test("hears that the agent is ready, what is up, that it reads again, that it lives and that it stops")
  func notifications() throws {
    let scene = try Scene()
    let socket = FileDescriptor(owning: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0))
    #expect(clinux_unix_bind(socket.number, "\(scene.folder)/notify") == 0)
    var alive = 0
    func heard() throws -> [String] {
      var lines: [String] = []
      while let message = try socket.read() { lines += String(decoding: message, as: UTF8.self).lines }
      alive += lines.count { $0 == "WATCHDOG=1" }
      return lines.filter { $0 != "WATCHDOG=1" }
    }

    try scene.run("go home; NOTIFY_SOCKET=$scene/notify WATCHDOG_USEC=400000 start_agent")
    #expect(try heard().starts(with: ["READY=1", "STATUS=no tunnel is up"]))
    try scene.run("go cafe; tunnel_is corp connected; sleep 0.3")
    let up = try heard()
    #expect(up.contains("STATUS=up: corp"))
    try scene.run("kill -HUP $(agent_pid); sleep 0.3")
    let again = try heard()
    #expect(again.first == "RELOADING=1")
    #expect(again.dropFirst().first?.hasPrefix("MONOTONIC_USEC=") == true)
    #expect(again.contains("READY=1"))
    try scene.run("stop_agent")
    let end = try heard()
    #expect(end.first == "STOPPING=1")
    #expect(end.last == "STATUS=no tunnel is up")
    #expect(alive > 3)
  }
}
