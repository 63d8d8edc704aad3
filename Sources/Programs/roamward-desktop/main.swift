import DesktopService
import Glibc
import LinuxIO
import SystemdIO

private let usage = """
  usage: roamward-desktop

  Show the state of roamwardd in the tray of a desktop, with a menu, and notify of what needs a person. The user service
  roamward-desktop.service starts it with the desktop. It also gives the session's new programs the variables of proxies.

    --forget    Take back variables that a killed service has left.
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
if CommandLine.arguments.dropFirst() == ["--forget"] {
  do throws(SystemError) {
    let loop = try EventLoop()
    let work = SessionEnvironment.forget(on: loop)
    let status = try loop.run()
    withExtendedLifetime(work) {}
    exit(status)
  } catch {
    fail("\(error)", 1)
  }
}
if let other = CommandLine.arguments.dropFirst().first { fail("unknown argument \(other); see roamward-desktop --help", EX_USAGE) }

do throws(SystemError) {
  let loop = try EventLoop()
  let service = DesktopService(on: loop)
  let signals = [try loop.onSignal(SIGTERM) { service.end() }, try loop.onSignal(SIGINT) { service.end() }]
  service.start()
  let status = try loop.run()
  withExtendedLifetime((service, signals)) {}
  exit(status)
} catch {
  fail("\(error)", 1)
}
