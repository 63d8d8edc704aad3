import DesktopService
import Glibc
import LinuxIO
import SystemdIO

private let usage = """
  usage: roamward-desktop

  Show the state of roamwardd in the tray of a desktop, with a menu, and notify of what needs a person. The user service
  roamward-desktop.service starts it with the desktop.

    -h, --help  Show this help.

  """

private func fail(_ text: String, _ status: Int32) -> Never {
  _ = Array("roamward-desktop: \(text)\n".utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  exit(status)
}

if CommandLine.arguments.dropFirst().contains(where: { ["-h", "--help"].contains($0) }) {
  print(usage, terminator: "")
  exit(0)
}
if let other = CommandLine.arguments.dropFirst().first { fail("unknown argument \(other); see roamward-desktop --help", EX_USAGE) }

do throws(SystemError) {
  let loop = try EventLoop()
  let service = DesktopService(on: loop)
  let signals = [try loop.onSignal(SIGTERM) { loop.stop() }, try loop.onSignal(SIGINT) { loop.stop() }]
  service.start()
  let status = try loop.run()
  withExtendedLifetime((service, signals)) {}
  exit(status)
} catch {
  fail("\(error)", 1)
}
