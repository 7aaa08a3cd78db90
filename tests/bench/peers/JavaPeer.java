import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * A peer that stands by Curator's LeaderLatch, or by the WriteLock recipe of ZooKeeper itself, and starts a command each
 * time that it leads.
 *
 * java JavaPeer.java latch|lock SERVERS PATH TIMEOUT_MS COMMAND [ARGUMENT]...
 *
 * A line on its standard input lets it leave and stand again; it answers with the instant before it leaves, on
 * CLOCK_MONOTONIC in nanoseconds.
 */
public class JavaPeer {
	private static final Semaphore led = new Semaphore(0);
	private static List<String> command;

	interface Contest {
		void stand() throws Exception;

		void leave() throws Exception;
	}

	/** In the thread that is told of it, as a hook would be. */
	private static void lead() {
		try {
			new ProcessBuilder(command).inheritIO().start();
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
		led.release();
	}

	private static Contest latch(String servers, String path, int timeoutMs) {
		CuratorFramework client = CuratorFrameworkFactory.builder()
			.connectString(servers)
			.ensembleTracker(false)
			.sessionTimeoutMs(timeoutMs)
			.retryPolicy(new ExponentialBackoffRetry(1000, 3))
			.build();
		client.start();
		return new Contest() {
			private LeaderLatch latch;

			@Override
			public void stand() throws Exception {
				latch = new LeaderLatch(client, path);
				latch.addListener(new LeaderLatchListener() {
					@Override
					public void isLeader() {
						lead();
					}

					@Override
					public void notLeader() {
					}
				});
				latch.start();
			}

			@Override
			public void leave() throws Exception {
				latch.close();
			}
		};
	}

	private static Contest lock(String servers, String path, int timeoutMs) throws Exception {
		ZooKeeper zk = new ZooKeeper(servers, timeoutMs, event -> { });
		return new Contest() {
			private WriteLock lock;

			@Override
			public void stand() throws Exception {
				lock = new WriteLock(zk, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, new LockListener() {
					@Override
					public void lockAcquired() {
						lead();
					}

					@Override
					public void lockReleased() {
					}
				});
				lock.lock();
			}

			@Override
			public void leave() {
				lock.unlock();
			}
		};
	}

	public static void main(String[] arguments) throws Exception {
		int timeoutMs = Integer.parseInt(arguments[3]);
		Contest contest = arguments[0].equals("latch") ? latch(arguments[1], arguments[2], timeoutMs)
							       : lock(arguments[1], arguments[2], timeoutMs);
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		command = Arrays.asList(arguments).subList(4, arguments.length);
		while (true) {
			contest.stand();
			led.acquire();
			if (input.readLine() == null)
				System.exit(0);
			/* On Linux this is CLOCK_MONOTONIC itself. */
			System.out.println(System.nanoTime());
			System.out.flush();
			contest.leave();
		}
	}
}
