internal import CDatagrams
internal import Synchronization

/// Unpredictable numbers of the kernel, taken 32 at a time.
final class RandomSource: Sendable {
  private let spare = Mutex<[UInt64]>([])

  func next() -> UInt64 {
    spare.withLock { spare in
      if spare.isEmpty { Self.fill(&spare) }
      return spare.removeLast()
    }
  }

  private static func fill(_ spare: inout [UInt64]) {
    var values = [UInt64](repeating: 0, count: 32)
    let isFilled = values.withUnsafeMutableBytes { cdatagrams_random($0.baseAddress, $0.count) == 0 }
    guard isFilled else {
      // It fails only if the kernel has no generator. With numbers that can be guessed, no question may be sent.
      fatalError("the kernel gives no random numbers")
    }
    spare = values
  }
}
