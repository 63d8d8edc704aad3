import FlowRelay
import Glibc
import LinuxIO
import NetworkTypes
import ProcessConfinement
import SimpleTunnelHost

private let usage = """
  usage: simpletunnel-server PORT CONFIG.plist [--device TUN]

  Serve SimpleTunnel at a TCP port: tunnels of IP packets by a TUN device, with addresses of the pool, and flows of
  applications by TCP and UDP. Insecure, as the protocol: neither encryption nor authentication.

    ip tuntap add dev simple0 mode tun user nobody
    ip address add 10.92.0.1/24 dev simple0
    ip link set simple0 up
    simpletunnel-server 9997 config.plist --device simple0

  CONFIG.plist is that of Apple's sample, in XML or binary: IPv4 with Pool and Routes, and DNS. Without --device there are
  flows alone, and the server needs no privileges at all. Services at a loopback address of this machine are not reached.

    --device TUN  The TUN device, made before, with an address in the network of the pool.
    --check       Check that this process can be confined: exit 0 if so.
    -h, --help    Show this help.

  """

private struct Mistake: Error, CustomStringConvertible { let description: String }

private func run(_ words: [String], say: (String) -> Void) throws {
  guard let word = words.first, let port = UInt16(word), port > 0 else {
    throw Mistake(description: "the first argument is the TCP port; see --help")
  }
  guard words.count == 2 || words.count == 4 && words[2] == "--device" else {
    throw Mistake(description: "the second argument is the property list, and then there is --device TUN alone; see --help")
  }
  let bytes = try TextFile.read(words[1], limit: 1 << 20)
  let configuration: ServerConfiguration
  do throws(ServerConfiguration.Mistake) {
    configuration = try ServerConfiguration(bytes)
  } catch {
    throw Mistake(description: "\(words[1]): \(error)")
  }
  let device = words.count == 4 ? try TUNDevice.attach(to: words[3]) : nil
  if device != nil, configuration.pool == nil {
    throw Mistake(description: "\(words[1]): there is no Pool in IPv4, whose addresses clients of \(words[3]) would get")
  }
  let loop = try DescriptorLoop()
  var listeners: [FileDescriptor] = []
  for family in [IPAddress.Family.v4, .v6] {
    do throws(SystemError) {
      listeners.append(try StreamSocket.listen(at: .unspecified(family), port: port))
    } catch {
      guard error.code == EAFNOSUPPORT else { throw error }
    }
  }
  let host = ServerHost(configuration, at: listeners, device: device, outlet: try DirectOutlet(on: loop, needsRoute: false), on: loop)
  try host.begin()
  say("listening at port \(port): flows\(device == nil ? "" : ", and packets by \(words[3])"); everyone who reaches it can use it")
  try SocksWork.serve(on: loop)
}

exit(ConfinedProgram.run("simpletunnel-server", usage: usage, check: SocksWork.check) { words, say in try run(words, say: say) })
