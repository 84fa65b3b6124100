-- How often the database did not finish a part in time, counted apart from what fails by a mistake of ours: each has a bound of its own.
alter table imports add column if not exists slow_tries integer not null default 0;
