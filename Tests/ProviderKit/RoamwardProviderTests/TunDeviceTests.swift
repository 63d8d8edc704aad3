import CTunDevice
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import ProviderProtocol
import TestSupport
import Testing

/// The examples with a TUN device of the kernel, as a user without privileges: the kernel's own packets go through the provider and back.
@Suite(.serialized) struct TunDeviceTests {
  static let canRun =
    canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0 && (try? shell("command -v ip ping setpriv")) != nil
    // The user needs a way to the programs.
    && (try? shell("setpriv --reuid=65534 --regid=65534 --clear-groups test -x '\(LiveProviderTests.folder)/plain-udp'")) != nil

  @Test(
    "a user without capabilities carries the kernel's packets, 50 of 50",
    .enabled(if: canRun, "needs root, /dev/net/tun, ip, ping, setpriv"),
    arguments: LiveProviderTests.Program.available)
  func packets(program: LiveProviderTests.Program) throws {
    try inNamespaces {
      try shell("ip link set lo up")
      let server = try PlainServer()
      let agent = try LiveAgent("setpriv", Self.unprivileged(program))
      agent.makeDevice = {
        let number = ctundevice_open("live0")
        guard number >= 0 else { throw SystemError.last("make a TUN device") }
        return FileDescriptor(owning: number)
      }
      try agent.pump("it greets") { agent.session.state == .idle }
      try agent.start(StartRequest(options: ["server": .string("127.0.0.1:\(server.port)"), "address": "10.9.0.2/24"]))
      try agent.pump("it connects") {
        server.serve()
        return agent.session.state == .connected
      }
      try shell("ip address add 10.9.0.2/24 dev live0 && ip link set live0 up mtu 1400")
      server.answersPings = true
      let folder = try TemporaryFolder()
      let ping = try SpawnedProgram(
        "/bin/sh", ["sh", "-c", "ping -n -q -c 50 -i 0.01 -s 1300 -W 5 10.9.0.1 >\(folder.path)/ping 2>&1"],
        environment: ["PATH=/usr/bin:/bin:/usr/sbin:/sbin"], descriptors: [.nothing, .nothing, .nothing], company: .group
      ).start()
      var status: Int32 = 0
      try agent.pump("the kernel has its answers") {
        server.serve()
        return waitpid(ping, &status, WNOHANG) == ping
      }
      let output = String(decoding: try TextFile.read("\(folder.path)/ping"), as: UTF8.self)
      #expect(status == 0 && output.contains("50 packets transmitted, 50 received"), "\(output)")
      try agent.stop()
      try agent.pump("it stops") { agent.ends == [.stopped(inTime: true)] }
      // The provider has closed its descriptor, and the device went with the last one.
      agent.forgetDevice()
      #expect(try agent.end() == 0 && agent.violations.isEmpty)
      // A child that another test is just starting may share the device until it runs its program.
      for _ in 0..<500 {
        guard (try? shell("ip link show live0")) != nil else { break }
        usleep(20_000)
      }
      #expect((try? shell("ip link show live0")) == nil)
    }
  }

  /// The program by setpriv(1): nobody, no group, no capability, no new privileges.
  private static func unprivileged(_ program: LiveProviderTests.Program) -> [String] {
    let limits = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
    return limits + program.command
  }
}
