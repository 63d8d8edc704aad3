internal import CWireGuardIO
package import LinuxIO

/// A WireGuard interface in a separate process, `roamward-wireguard`, from the point of view of its privileged parent. The parent opens
/// everything that needs a privilege and passes it on. Later the process requests such things here.
///
/// The interface outlives this value, as wireguard-go outlives the program that started it. It ends by itself when its link is removed, or
/// its socket's file if the system lets it watch that. The link is deleted when the process ends, for any reason.
package struct InterfaceProcess {
  package static let program = "roamward-wireguard"
  /// The user that it runs as.
  package static let user = "roamward-wireguard"
  /// Descriptor numbers in the new process.
  package static let tun: Int32 = 3
  package static let listener: Int32 = 4
  package static let folder: Int32 = 5
  package static let channel: Int32 = 6
  /// The first of the device's further queues, if there are any.
  package static let queues: Int32 = 7

  /// More than sixteen pairs of threads would only wait for each other.
  package static let mostPairs = Int(CWG_DESCRIPTORS) / 2
  /// A pair of threads for each processor that this process may use.
  package static var defaultPairs: Int { min(Int(cwg_processors()), mostPairs) }

  package let process: Int32
  /// The parent's end of the socket requests: watch it and serve it (`serveSockets`) while it is readable.
  package let sockets: SocketSource
  private let reserve = SocketReserve()
  private let pairs: Int
  package let socketsDescriptor: Int32
  private let end: FileDescriptor

  /// Creates the link (down) and the configuration socket, and starts the program. `isAttached`: the interface ends when this value is
  /// released. `cipher`: the name of the library for transport messages; `nil`: the fastest. `pairs`: the most pairs of threads that carry
  /// packets; `nil`: one for each processor.
  package init(
    _ name: String, program: String, socketDirectory: String, offloads: Offloads = .all, cipher: String? = nil, pairs: Int? = nil,
    isAttached: Bool = false
  ) throws(SystemError) {
    let parts = try InterfaceDescriptors(name, socketDirectory: socketDirectory, offloads: offloads, queues: pairs ?? Self.defaultPairs)
    do throws(SystemError) {
      let (ours, theirs) = try SocketSource.channel()
      var arguments = Self.arguments(of: name, offloads: offloads, pairs: parts.queues.count)
      if let cipher { arguments += ["--cipher", cipher] }
      if isAttached { arguments.append("--attached") }
      FaultPoint.pass("before starting \(program) \(name)")
      process = try SpawnedProgram(
        program, arguments, environment: [Self.mark(of: name)],
        // It prints only before it ends with an error.
        descriptors: [.nothing, .nothing, .inherited, .open(parts.queues[0]), .open(parts.listener), .open(parts.folder), .open(theirs)]
          + parts.queues.dropFirst().map { .open($0) },
        company: .session
      ).start()
      FaultPoint.pass("after starting \(program) \(name)")
      end = ours
    } catch {
      parts.removeSocket()
      throw error
    }
    sockets = SocketSource(end)
    socketsDescriptor = end.number
    self.pairs = parts.queues.count
  }

  /// The same, by a waiting process of the program.
  package init(_ name: String, by standby: StandbyProcess, socketDirectory: String) throws(SystemError) {
    let parts = try InterfaceDescriptors(
      name, socketDirectory: socketDirectory, offloads: standby.offloads, queues: standby.pairs)
    FaultPoint.pass("before starting \(Self.program) \(name)")
    do throws(SystemError) {
      try standby.handOver(parts)
    } catch {
      parts.removeSocket()
      throw error
    }
    FaultPoint.pass("after starting \(Self.program) \(name)")
    process = standby.process
    end = standby.end
    sockets = SocketSource(end)
    socketsDescriptor = end.number
    pairs = parts.queues.count
  }

  /// Opens the sockets that the interface will ask for first, with this port (0: any) and mark. See `SocketReserve`.
  package func prepareSockets(port: UInt16, mark: UInt32) { reserve.prepare(port: port, mark: mark, pairs: pairs) }

  /// Whether the interface has asked for sockets.
  package var hasSockets: Bool { reserve.isUsed }

  /// Answers one pending request for sockets. False if the interface is gone.
  package func serveSockets() -> Bool { sockets.serve(from: reserve) }

  /// The arguments of the process, as ps(1) shows them.
  static func arguments(of link: String, offloads: Offloads, pairs: Int) -> [String] {
    [program, "--at-work", link, "--offloads", "\(offloads.rawValue)", "--pairs", "\(pairs)"]
  }

  /// The owner's mark (`MarkedProcess`), which is all of its environment.
  static func mark(of link: String) -> String { "ROAMWARD_LINK=\(link)" }

  package static var path: String { ownProgram(program) }
}
