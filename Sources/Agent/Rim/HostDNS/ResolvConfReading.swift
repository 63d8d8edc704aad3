package import KernelModel
internal import LinuxIO
package import NetworkTypes
import RoamwardCore

/// resolv.conf at one moment, with everything that follows from it. Each file is read at its first use, and at most once.
package final class ResolvConfReading {
  private let backend: ResolvConfBackend
  /// The object at the path, as programs find it.
  private lazy var found = ResolvConfPlace(backend.path)
  /// The same; after an interrupted overwrite, with the intended content.
  private lazy var place = backend.completed(found)

  init(_ backend: ResolvConfBackend) { self.backend = backend }

  package private(set) lazy var observed = backend.observe(place)

  /// The target of the file as an absolute path; `nil` if it is no symbolic link.
  package private(set) lazy var target: String? =
    if case .link(let target) = place { ResolvConfPlace.resolve(target, from: backend.path) } else { nil }

  /// The text that names the underlay's servers (`ResolvConfBackend.underlayText`).
  package private(set) lazy var underlayText = backend.underlayText(at: place)

  /// The name servers that programs find there.
  package private(set) lazy var nameServers: [IPAddress] = {
    let bytes =
      switch found {
      case .file(let bytes, _): bytes
      case .link: (try? TextFile.read(backend.path)) ?? []
      case .absent, .other: [UInt8]()
      }
    return ResolvConf(parsing: String(decoding: bytes, as: UTF8.self)).nameServers
  }()
}
