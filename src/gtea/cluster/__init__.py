"""Work beyond one process: tasks over files, run by a pool of processes, by a job array, or by Ray.

A task is a pure function of paths and JSON, and its result is a file with a digest (``part_files``). A file that is
there and whole is not made again. So whoever runs the tasks may retry, crash or be killed: the next run goes on from
the files. Tasks don't know who runs them.

    tasks         what a task is, and running one
    carriers      who runs tasks: the text of --on
    schedule      tasks in order, for carriers with a driver: retries, and damaged files made again
"""
