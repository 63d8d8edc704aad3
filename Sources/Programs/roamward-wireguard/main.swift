import Glibc
import LinuxIO
import NetworkTypes
import WireGuardControl
import WireGuardDataPath

// No argument parser: it would double this program's memory use.
private let usage = """
  usage: roamward-wireguard [--no-offload] [--cipher LIBRARY] [--pairs NUMBER] LINK

  Run a WireGuard interface in user space. Creates the link and runs in the foreground until the link, or its socket in
  /var/run/wireguard, is removed. Configure it with wg(8). The agent starts it when a policy needs it.
  Needs CAP_NET_ADMIN; the process that handles packets has no privileges.

    --no-offload               Disable the kernel's offloads: one system call per packet.
    --cipher LIBRARY           Encrypt packets with this library: libipsec-mb, boringssl, libcrypto or libsodium.
                               Without it, the fastest that is installed is chosen soon after the start, by a
                               measurement.
    --pairs NUMBER             Use at most this many pairs of threads, 1 to 16. Without it, one for each processor. The
                               second and further ones start to work when the first are busy.
    --version                  Show the version, and the library that would be chosen now, or with --cipher, used.
    --socket-directory FOLDER  Create the link's socket in this folder.
    -h, --help                 Show this help.

  """

private struct Arguments {
  var link: String?
  var offloads = Offloads.all
  var socketDirectory = "/var/run/wireguard"
  var cipher: CipherLibrary?
  /// `nil`: one for each processor.
  var pairs: Int?
  /// Internal mode, started by the program itself or by the agent: without privileges, on passed descriptors.
  var isAtWork = false
  var isAttached = false
  /// Internal mode: the same, but the descriptors come later, over the last one.
  var isWaiting = false

  init?(_ words: ArraySlice<String>) {
    var rest = words
    while let word = rest.popFirst() {
      switch word {
      case "--no-offload": offloads = []
      case "--socket-directory":
        guard let folder = rest.popFirst() else { return nil }
        socketDirectory = folder
      case "--cipher":
        guard let library = rest.popFirst().flatMap({ CipherLibrary(rawValue: $0) }) else { return nil }
        cipher = library
      case "--pairs":
        guard let number = rest.popFirst().flatMap({ Int($0) }), (1...InterfaceProcess.mostPairs).contains(number) else { return nil }
        pairs = number
      case "--at-work": isAtWork = true
      case "--attached": isAttached = true
      case "--stand-by": isWaiting = true
      case "--offloads":
        guard let bits = rest.popFirst().flatMap({ UInt8($0) }) else { return nil }
        offloads = Offloads(rawValue: bits)
      case _ where isWaiting && link == nil: link = word
      case _ where word.hasPrefix("-") || link != nil: return nil
      default: link = word
      }
    }
    if link == nil { return nil }
  }
}

/// The privileged side: opens sockets on request, and ends with the interface.
private func host(_ link: String, _ arguments: Arguments) throws(SystemError) -> Int32 {
  let loop = try DescriptorLoop()
  let interface = try InterfaceProcess(
    link, program: "/proc/self/exe", socketDirectory: arguments.socketDirectory, offloads: arguments.offloads,
    cipher: arguments.cipher?.rawValue, pairs: arguments.pairs, isAttached: true)
  var serving: DescriptorLoop.Source?
  serving = try loop.whenReadable(interface.socketsDescriptor) { if !interface.sockets.serve() { serving?.cancel() } }
  let sources = [
    try loop.onExit(of: interface.process) { loop.stop(code: $0) },
    try loop.onSignal(SIGTERM) { kill(interface.process, SIGTERM) },
    try loop.onSignal(SIGINT) { kill(interface.process, SIGTERM) },
  ]
  defer { withExtendedLifetime((sources, serving)) {} }
  let code = try loop.run()
  unlink("\(arguments.socketDirectory)/\(link).sock")
  return code
}

private func say(_ text: String, on descriptor: Int32) {
  try? FileDescriptor(owning: dup(descriptor)).writeAll(Array(text.utf8))
}

/// The version, and what a tunnel that starts now would use. `cipher`: the library that was asked for.
private func version(_ cipher: CipherLibrary?) -> String {
  let choice = LoadedCiphers(only: cipher).choose()
  func microseconds(_ duration: Duration) -> String { "\((duration / .nanoseconds(10)).rounded() / 100) µs" }
  let measured = choice.durations.sorted { $0.value < $1.value }
    .map { "  \($0.key.rawValue): \(microseconds($0.value)) to seal and open 1,424 bytes\n" }
  let rejected = choice.rejections.map { "  not \($0.library.rawValue): \($0.reason)\n" }
  return "roamward-wireguard \(releaseVersion)\ncipher: \(choice.description)\n" + (measured + rejected).joined()
}

private func run() -> Int32 {
  let words = CommandLine.arguments.dropFirst()
  if words.contains("--version") {
    let name = words.firstIndex(of: "--cipher").flatMap { words.dropFirst($0 - words.startIndex + 1).first }
    say(version(name.flatMap { CipherLibrary(rawValue: $0) }), on: 1)
    return 0
  }
  if words.contains("-h") || words.contains("--help") {
    say(usage, on: 1)
    return 0
  }
  guard let arguments = Arguments(words) else {
    say(usage, on: 2)
    return 64
  }
  do throws(SystemError) {
    if arguments.isWaiting {
      try InterfaceAtWork.standBy(
        offloads: arguments.offloads, pairs: arguments.pairs ?? InterfaceProcess.defaultPairs, isAttached: arguments.isAttached)
      return 0
    }
    // In the internal mode, the link's name is only for process lists.
    if let link = arguments.link, !arguments.isAtWork { return try host(link, arguments) }
    try InterfaceAtWork.run(
      offloads: arguments.offloads, cipher: arguments.cipher, pairs: arguments.pairs ?? 1, isAttached: arguments.isAttached)
    return 0
  } catch {
    say("roamward-wireguard: \(error)\n", on: 2)
    return 1
  }
}

exit(run())
